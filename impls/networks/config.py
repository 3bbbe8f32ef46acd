"""Network configurations, their parameters by name, and what every sibling refuses alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError

ACTIVATIONS = ("relu", "tanh")


@dataclass(frozen=True)
class MLPConfig:
    """Sizes of a perceptron; ``hidden_sizes=()`` makes it linear.

    Raises:
        ConfigError: a size is below 1, or the activation is unknown.
    """

    input_size: int
    """Features of one input row."""
    hidden_sizes: tuple[int, ...]
    """Units of each hidden layer, first to last."""
    output_size: int
    """Units of the last layer, which has no activation."""
    activation: str = "relu"
    """After each hidden layer: ``relu`` or ``tanh``."""

    def __post_init__(self) -> None:
        _require_sizes(input_size=self.input_size, output_size=self.output_size)
        _require_sizes(**{f"hidden_sizes[{i}]": n for i, n in enumerate(self.hidden_sizes)})
        if self.activation not in ACTIVATIONS:
            raise ConfigError(
                f"activation={self.activation!r} is unknown; known: {', '.join(ACTIVATIONS)}"
            )


@dataclass(frozen=True)
class ActorConfig:
    """Sizes and action bound of a deterministic actor.

    Raises:
        ConfigError: a size is below 1, or a bound is not finite and positive, or there is not one
            bound per action dimension.
    """

    observation_size: int
    """Features of one observation."""
    action_size: int
    """Dimensions of one action."""
    hidden_sizes: tuple[int, ...] = (256, 256)
    """Units of each hidden layer (TD3: 256, 256; DDPG: 400, 300)."""
    max_action: tuple[float, ...] | float = 1.0
    """Largest magnitude of an action, in the environment's unit: one for all, or per dimension."""

    def __post_init__(self) -> None:
        _require_sizes(observation_size=self.observation_size, action_size=self.action_size)
        _require_sizes(**{f"hidden_sizes[{i}]": n for i, n in enumerate(self.hidden_sizes)})
        if len(self.bounds) != self.action_size:
            raise ConfigError(
                f"max_action={self.max_action!r} has {len(self.bounds)} entries; expected one "
                f"number or action_size={self.action_size} of them"
            )
        if not all(math.isfinite(bound) and bound > 0 for bound in self.bounds):
            raise ConfigError(f"max_action={self.max_action!r}: every bound is finite and above 0")

    @property
    def bounds(self) -> tuple[float, ...]:
        """``max_action`` with one entry per action dimension."""
        if isinstance(self.max_action, tuple):
            return self.max_action
        return (float(self.max_action),) * self.action_size

    @property
    def mlp(self) -> MLPConfig:
        """The layers before the squashing."""
        return MLPConfig(self.observation_size, self.hidden_sizes, self.action_size)


@dataclass(frozen=True)
class CriticConfig:
    """Sizes of a twin critic.

    Raises:
        ConfigError: a size is below 1.
    """

    observation_size: int
    """Features of one observation."""
    action_size: int
    """Dimensions of one action."""
    hidden_sizes: tuple[int, ...] = (256, 256)
    """Units of each hidden layer, the same in both networks (TD3: 256, 256)."""

    def __post_init__(self) -> None:
        _require_sizes(observation_size=self.observation_size, action_size=self.action_size)
        _require_sizes(**{f"hidden_sizes[{i}]": n for i, n in enumerate(self.hidden_sizes)})

    @property
    def mlp(self) -> MLPConfig:
        """The layers of either network."""
        return MLPConfig(self.observation_size + self.action_size, self.hidden_sizes, 1)


Config = MLPConfig | ActorConfig | CriticConfig


def initial_parameters(config: Config, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Fan-in uniform values for every parameter, drawn once and used by every framework.

    Kernels and biases are uniform in ``[-1/sqrt(fan_in), 1/sqrt(fan_in)]``.

    Source: Lillicrap et al. 2016, section 7; it is also torch's default for ``Linear``.

    Args:
        config: of any builder.
        rng: the draws; layer by layer, kernel before bias, ``q1`` before ``q2``.

    Returns:
        Canonical name -> float64 array of values that float32 can hold, so that networks of either
        precision start from the same numbers.

    Differs from the paper: its last layers start at 3e-3 (kernel and bias).
    """
    shapes, values = parameter_shapes(config), {}
    for name, shape in shapes.items():
        fan_in = shapes[name.replace("bias", "kernel")][0]
        drawn = rng.uniform(-1.0, 1.0, shape) / math.sqrt(fan_in)
        values[name] = drawn.astype(np.float32).astype(np.float64)
    return values


def parameter_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Canonical name -> shape (kernels ``[in, out]``), in execution order."""
    if isinstance(config, CriticConfig):
        inner = parameter_shapes(config.mlp)
        return {f"{q}/{name}": shape for q in ("q1", "q2") for name, shape in inner.items()}
    mlp = config if isinstance(config, MLPConfig) else config.mlp
    shapes: dict[str, tuple[int, ...]] = {}
    for i, (fan_in, fan_out) in enumerate(layer_sizes(mlp), start=1):
        shapes[f"l{i}/kernel"] = (fan_in, fan_out)
        shapes[f"l{i}/bias"] = (fan_out,)
    return shapes


def layer_sizes(config: MLPConfig) -> list[tuple[int, int]]:
    """``(in, out)`` of each dense layer."""
    sizes = [config.input_size, *config.hidden_sizes, config.output_size]
    return list(zip(sizes[:-1], sizes[1:], strict=True))


# What every sibling refuses, in the same words. Shapes may hold None (unknown while tracing).


def require_dtype(dtype: str) -> str:
    """The dtype itself, if networks can have it."""
    if dtype not in ("float32", "float64"):
        raise DtypeError(f"dtype={dtype!r}: a network is float32 or float64")
    return dtype


def require_device(device: str, gpus: int) -> tuple[str, int]:
    """``cuda:1`` -> (``cuda``, 1). A device that is not there is refused: no CPU in its place."""
    kind, _, index = device.partition(":")
    number = int(index) if index.isdigit() else 0
    known = kind in ("cpu", "cuda") and (index.isdigit() or not index)
    if not known or number >= (gpus if kind == "cuda" else 1):
        raise ConfigError(f"device={device!r}: expected cpu, or cuda:N of the {gpus} GPUs here")
    return kind, number


def require_matrix(
    name: str, shape: Sequence[int | None], dtype: str, *, size: int, network_dtype: str
) -> None:
    """Refuse an input that is not ``[B, size]`` of the network's dtype."""
    if len(shape) != 2 or shape[1] not in (None, size):
        raise ShapeError(f"{name} has shape {tuple(shape)}, expected [B, {size}]")
    if dtype != network_dtype:
        raise DtypeError(f"{name} is {dtype}, expected the network's {network_dtype}")


def require_same_batch(observation: Sequence[int | None], action: Sequence[int | None]) -> None:
    """Refuse an observation and an action of different batch sizes."""
    if None not in (observation[0], action[0]) and observation[0] != action[0]:
        raise ShapeError(
            f"observation has {observation[0]} rows and action has {action[0]}, expected as many"
        )


def require_names(values: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse parameter values whose names or shapes are not exactly the network's."""
    missing, unknown = sorted(shapes.keys() - values.keys()), sorted(values.keys() - shapes.keys())
    if missing or unknown:
        raise ConfigError(f"values: missing {missing or 'none'}, unknown {unknown or 'none'}")
    for name, shape in shapes.items():
        if tuple(values[name].shape) != tuple(shape):
            raise ShapeError(
                f"{name} has shape {tuple(values[name].shape)}, expected {tuple(shape)}"
            )


def _require_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ConfigError(f"{name}={size}: a size is at least 1")
