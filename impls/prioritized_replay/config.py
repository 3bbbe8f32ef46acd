"""Sizes and constants of a prioritized replay buffer, and what every sibling refuses alike."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from impls.arguments import dtype_of, require_range
from impls.errors import ConfigError, DtypeError, ShapeError
from impls.replay_buffer.config import ReplayBufferConfig


@dataclass(frozen=True)
class PrioritizedReplayConfig(ReplayBufferConfig):
    """Sizes of a prioritized buffer; capacity, shapes and action dtype as in a plain one.

    Attributes:
        alpha: exponent of priorities, at least 0; 0 samples uniformly (Schaul et al. 2016: 0.6).
        epsilon: added to the magnitude of an error, above 0, so that no transition is lost.
        with_steps: transitions carry ``steps``, int64, as those of an n-step window do.

    Raises:
        ConfigError: a value is out of its range; the message names the field.
    """

    alpha: float = 0.6
    epsilon: float = 1e-6
    with_steps: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (_finite(self.alpha) and self.alpha >= 0.0):
            raise ConfigError(f"alpha={self.alpha!r}: must be finite and at least 0")
        if not (_finite(self.epsilon) and self.epsilon > 0.0):
            raise ConfigError(f"epsilon={self.epsilon!r}: must be finite and above 0")

    def layout(self, dtype: str) -> dict[str, tuple[tuple[int, ...], str]]:
        """Shape and dtype of one transition's fields."""
        steps: dict[str, tuple[tuple[int, ...], str]] = {"steps": ((), "int64")}
        return {**super().layout(dtype), **(steps if self.with_steps else {})}

    @property
    def leaves(self) -> int:
        """Leaves of the sum tree: the smallest power of two that holds the capacity."""
        return 1 << (self.capacity - 1).bit_length()

    @property
    def depth(self) -> int:
        """Levels above the leaves."""
        return self.leaves.bit_length() - 1


def require_vector(name: str, values: Any, length: int | None = None) -> None:
    """Refuse what is not a vector of floating values, or not of this length."""
    shape = tuple(values.shape)
    if len(shape) != 1 or (None not in (length, shape[0]) and shape[0] != length):
        wanted = "N" if length is None else length
        raise ShapeError(f"{name} has shape {list(shape)}, must be [{wanted}]")
    if dtype_of(values) not in ("float32", "float64"):
        raise DtypeError(f"{name} is {dtype_of(values)}, must be floating")


def require_beta(beta: Any) -> None:
    """Refuse a number outside [0, 1]; the range of a tensor is not checked."""
    require_range(0.0, 1.0, beta=beta)
    if not isinstance(beta, Real) and tuple(beta.shape):
        raise ShapeError(f"beta has shape {list(beta.shape)}, must be a scalar")


def require_priorities(state: Mapping[str, Any], capacity: int) -> None:
    """Refuse a state whose priorities are not those of a buffer with so many filled slots."""
    if missing := sorted({"priority", "max_priority", "size"} - set(state)):
        raise ConfigError(f"the state lacks {missing}")
    for name, shape in (("priority", (capacity,)), ("max_priority", ())):
        if tuple(state[name].shape) != shape:
            raise ShapeError(f"{name} has shape {list(state[name].shape)}, must be {list(shape)}")
        if dtype_of(state[name]) != "float64":
            raise DtypeError(f"{name} is {dtype_of(state[name])}, must be float64")
    priority, size = np.asarray(state["priority"]), int(state["size"])
    highest = float(state["max_priority"])
    fits = np.all(priority[:size] > 0.0) and np.all(priority[size:] == 0.0)
    if not (fits and math.isfinite(highest) and np.all(priority <= highest)):
        raise ConfigError(
            f"priority: above 0 in the first size={size} slots, 0 in the others, and none above "
            f"max_priority={highest}"
        )


def _finite(value: Any) -> bool:
    return isinstance(value, Real) and math.isfinite(value)
