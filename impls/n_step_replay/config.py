"""Sizes of an n-step replay buffer, and what every sibling refuses alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from impls.arguments import (
    dtype_of,
    require_dtype,
    require_floating,
    require_range,
    require_shape,
    shape_of,
)
from impls.errors import ConfigError, DtypeError, ShapeError
from impls.replay_buffer.config import Layout, ReplayBufferConfig

WINDOW = "window/"
"""Before the names of the pending steps in a state."""


@dataclass(frozen=True)
class NStepReplayConfig(ReplayBufferConfig):
    """Sizes of an n-step buffer; capacity, shapes and action dtype as in a plain one.

    Attributes:
        steps: n, most rewards in one sum, at least 1; Hessel et al. 2018 use 3.
        environments: B, rows of one step, at least 1 and at most ``capacity``.
        gamma: discount per step, in [0, 1].

    Raises:
        ConfigError: a value is out of its range; the message names the field.
    """

    steps: int = 3
    environments: int = 1
    gamma: float = 0.99

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("steps", "environments"):
            value = getattr(self, name)
            integer = isinstance(value, Integral) and not isinstance(value, bool)
            if not integer or value < 1:
                raise ConfigError(f"{name}={value!r}: must be an integer of at least 1")
        if self.environments > self.capacity:
            raise ConfigError(
                f"environments={self.environments}: one step does not fit capacity={self.capacity}"
            )
        if not isinstance(self.gamma, Real) or not 0.0 <= self.gamma <= 1.0:
            raise ConfigError(f"gamma={self.gamma!r}: must be in [0, 1]")

    def layout(self, dtype: str) -> dict[str, tuple[tuple[int, ...], str]]:
        """Shape and dtype of one n-step transition's fields; ``steps`` comes last."""
        return {**super().layout(dtype), "steps": ((), "int64")}

    def step_layout(self, dtype: str) -> dict[str, tuple[tuple[int, ...], str]]:
        """Shape and dtype of one step's fields, those of all environments: ``[B, ...]``."""
        one = super().layout(dtype)
        return {n: ((self.environments, *shape), kind) for n, (shape, kind) in one.items()}


def require_window(
    reward: Any, next_observation: Any, terminated: Any, truncated: Any, gamma: float
) -> None:
    """Refuse a window whose fields are not ``[n, B, ...]`` with n and B the same in all of them."""
    require_floating(reward=reward, next_observation=next_observation)
    shape = shape_of(reward)
    if shape is None or len(shape) != 2 or 0 in shape:
        raise ShapeError(f"reward has shape {shape}, must be [n, B] with at least one step")
    require_dtype("bool", terminated=terminated, truncated=truncated)
    require_shape(shape, terminated=terminated, truncated=truncated)
    found = shape_of(next_observation)
    if found is None or found[:2] != shape:
        raise ShapeError(f"next_observation has shape {found}, must begin with {shape}")
    require_range(0.0, 1.0, gamma=gamma)


def require_pending(state: Mapping[str, Any], layout: Layout, steps: int) -> None:
    """Refuse a state whose pending steps are not those of a buffer of this layout."""
    wanted = {f"{WINDOW}{n}": ((steps, *shape), kind) for n, (shape, kind) in layout.items()}
    wanted["seen"] = ((), "int64")
    if missing := sorted(set(wanted) - set(state)):
        raise ConfigError(f"the state lacks {missing}")
    for name, (shape, kind) in wanted.items():
        found = tuple(state[name].shape)
        if found != shape:
            raise ShapeError(f"{name} has shape {list(found)}, must be {list(shape)}")
        if dtype_of(state[name]) != kind:
            raise DtypeError(f"{name} is {dtype_of(state[name])}, must be {kind}")
    seen, size = int(state["seen"]), int(state["size"])
    environments = layout["reward"][0][0]
    possible = max(seen - steps + 1, 0) * environments
    if seen < 0 or size > possible:
        raise ConfigError(f"seen={seen}: so many steps do not make size={size} transitions")
