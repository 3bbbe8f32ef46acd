"""Sizes of the recurrent policy, its parameters by name, and what every sibling refuses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from impls.arguments import fits, require_dtype, require_floating, shape_of
from impls.errors import ConfigError, ShapeError

GATES = "ifgo"
"""Input gate, forget gate, candidate (Keras calls it c, others j), output gate."""


@dataclass(frozen=True)
class RecurrentPolicyConfig:
    """Sizes of the network.

    Raises:
        ConfigError: a size is below 1.
    """

    observation_size: int
    """Features of one observation."""
    action_size: int
    """Number of actions."""
    units: int = 128
    """Size of the hidden state and of the cell."""

    def __post_init__(self) -> None:
        for name in ("observation_size", "action_size", "units"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)}: a size is at least 1")


def parameter_shapes(config: RecurrentPolicyConfig) -> dict[str, tuple[int, ...]]:
    """Argument name -> shape; the four gates stand side by side in the order of :data:`GATES`."""
    gates = 4 * config.units
    return {
        "kernel": (config.observation_size, gates),
        "recurrent_kernel": (config.units, gates),
        "bias": (gates,),
        "policy_kernel": (config.units, config.action_size),
        "policy_bias": (config.action_size,),
        "value_kernel": (config.units, 1),
        "value_bias": (1,),
    }


def initial_parameters(
    config: RecurrentPolicyConfig, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Uniform in ``[-1/sqrt(n), 1/sqrt(n)]``, n the units: torch's default for ``LSTM``.

    Returns:
        Argument name -> float64 array of values that float32 can hold.
    """
    bound = 1.0 / math.sqrt(config.units)
    return {
        name: rng.uniform(-bound, bound, shape).astype(np.float32).astype(np.float64)
        for name, shape in parameter_shapes(config).items()
    }


def require_sequence(observation: Any, start: Any, values: Mapping[str, Any]) -> None:
    """Refuse a sequence, a state and parameters that do not fit each other.

    Args:
        values: ``hidden``, ``cell`` and the parameters, by name.
    """
    require_floating(observation=observation, **values)
    require_dtype("bool", start=start)
    shape = shape_of(observation)
    if shape is None or len(shape) != 3 or 0 in shape:
        raise ShapeError(f"observation has shape {shape}, must be [T, B, obs], none of them 0")
    steps, rows, size = shape
    if not fits(shape_of(start), (steps, rows)):
        raise ShapeError(f"start has shape {shape_of(start)}, must be {(steps, rows)}: [T, B]")
    recurrent = shape_of(values["recurrent_kernel"]) or ()
    if len(recurrent) != 2 or recurrent[1] != 4 * (recurrent[0] or 0):
        raise ShapeError(f"recurrent_kernel has shape {recurrent}, must be [units, 4 * units]")
    units, actions = recurrent[0], (shape_of(values["policy_bias"]) or (None,))[0]
    wanted = {
        "hidden": (rows, units),
        "cell": (rows, units),
        "kernel": (size, recurrent[1]),
        "bias": (recurrent[1],),
        "policy_kernel": (units, actions),
        "policy_bias": (actions,),
        "value_kernel": (units, 1),
        "value_bias": (1,),
    }
    for name, expected in wanted.items():
        if not fits(shape_of(values[name]), expected):
            raise ShapeError(f"{name} has shape {shape_of(values[name])}, must be {expected}")


def gate_places(order: str) -> list[int]:
    """Where each gate of :data:`GATES` stands in another order.

    Raises:
        ConfigError: the order is no permutation of the four letters.
    """
    if sorted(order) != sorted(GATES):
        raise ConfigError(f"order={order!r}: must name the gates {', '.join(GATES)}, each once")
    return [order.index(gate) for gate in GATES]


def require_gates(values: Any) -> None:
    """Refuse an array whose last axis is not four gates side by side."""
    shape = shape_of(values)
    if not shape or shape[-1] is None or shape[-1] % 4:
        raise ShapeError(f"values has shape {shape}, must be [..., 4 * units]")
