"""Sizes of a replay buffer, its fields, and the checks that need no framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from impls.errors import ConfigError, DtypeError, ShapeError

FIELDS = ("observation", "action", "reward", "next_observation", "terminated", "truncated")

Layout = Mapping[str, tuple[tuple[int, ...], str]]
"""Field name -> shape of one row, dtype name."""


@dataclass(frozen=True)
class ReplayBufferConfig:
    """Sizes of a buffer.

    Attributes:
        capacity: most transitions held, at least 1; Lillicrap et al. 2016 use 1e6.
        observation_shape: shape of one observation.
        action_shape: shape of one action; () for a discrete one.
        action_dtype: dtype of actions; None for the floating dtype of the buffer, ``int64`` for
            discrete ones.

    Raises:
        ConfigError: capacity not an integer or below 1, a negative size, or an unknown action
            dtype.
    """

    capacity: int
    observation_shape: tuple[int, ...]
    action_shape: tuple[int, ...]
    action_dtype: str | None = None

    def __post_init__(self) -> None:
        integer = isinstance(self.capacity, Integral) and not isinstance(self.capacity, bool)
        if not integer or self.capacity < 1:
            raise ConfigError(f"capacity={self.capacity!r}: a buffer holds at least 1 transition")
        for name in ("observation_shape", "action_shape"):
            if any(size < 1 for size in getattr(self, name)):
                raise ConfigError(f"{name}={getattr(self, name)!r}: every size is at least 1")
        if self.action_dtype not in (None, "float32", "float64", "int32", "int64"):
            raise ConfigError(
                f"action_dtype={self.action_dtype!r}: must be None, float32, float64, int32, int64"
            )

    def layout(self, dtype: str) -> dict[str, tuple[tuple[int, ...], str]]:
        """Shape and dtype of one transition's fields, in the order of :data:`FIELDS`."""
        return {
            "observation": (self.observation_shape, dtype),
            "action": (self.action_shape, self.action_dtype or dtype),
            "reward": ((), dtype),
            "next_observation": (self.observation_shape, dtype),
            "terminated": ((), "bool"),
            "truncated": ((), "bool"),
        }


def takes_dtype_of(value: Any, dtype: str) -> bool:
    """True for a Python number that a field of this dtype holds without changing its kind."""
    if dtype == "bool":
        return type(value) is bool
    return type(value) is int or (type(value) is float and dtype.startswith("float"))


def check_fields(
    given: Mapping[str, tuple[tuple[int | None, ...], str]],
    layout: Mapping[str, tuple[tuple[int, ...], str]],
    *,
    batched: bool,
) -> None:
    """Refuse a transition whose static shapes and dtypes are not those of the layout.

    Args:
        given: field name -> (shape, dtype name); a size is None where tracing does not know it.
        layout: what :meth:`ReplayBufferConfig.layout` says.
        batched: the fields have a leading axis N.

    Raises:
        ShapeError, DtypeError: as :meth:`ReplayBuffer.add_batch`.
    """
    if set(given) != set(layout):
        raise ShapeError(f"a transition has the fields {sorted(layout)}, got {sorted(given)}")
    for name, (shape, dtype) in layout.items():
        given_shape, given_dtype = given[name]
        if given_dtype != dtype:
            raise DtypeError(f"{name} is {given_dtype}, must be {dtype}")
        if len(given_shape) != len(shape) + batched or given_shape[batched:] != shape:
            wanted = ", ".join([*["N"] * batched, *map(str, shape)])
            raise ShapeError(f"{name} has shape {list(given_shape)}, must be [{wanted}]")
    lengths = {name: shape[0] for name, (shape, _) in given.items() if batched}
    if len(set(lengths.values())) > 1:
        raise ShapeError(f"the fields differ in N: {lengths}")


def check_state(
    given: Mapping[str, tuple[tuple[int, ...], str]],
    layout: Mapping[str, tuple[tuple[int, ...], str]],
    capacity: int,
) -> None:
    """Refuse a state whose names, shapes or dtypes are not those of a buffer of this layout."""
    known = {name: ((capacity, *shape), dtype) for name, (shape, dtype) in layout.items()}
    known |= {"size": ((), "int64"), "cursor": ((), "int64")}
    if set(given) != set(known):
        raise ConfigError(f"a state has the entries {sorted(known)}, got {sorted(given)}")
    for name, (shape, dtype) in known.items():
        if given[name][0] != shape:
            raise ShapeError(f"{name} has shape {list(given[name][0])}, must be {list(shape)}")
        if given[name][1] != dtype:
            raise DtypeError(f"{name} is {given[name][1]}, must be {dtype}")


def check_ring(size: int, cursor: int, capacity: int) -> None:
    """Refuse a size and a cursor that no sequence of additions leads to."""
    partly = 0 <= size < capacity and cursor == size
    full = size == capacity and 0 <= cursor < capacity
    if not (partly or full):
        raise ConfigError(f"size={size}, cursor={cursor} fit no ring of capacity {capacity}")
