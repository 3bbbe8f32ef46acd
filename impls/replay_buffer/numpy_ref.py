"""Ring buffer and index sampling in NumPy, one transition at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, EmptyBufferError, NonFiniteError, ShapeError
from impls.replay_buffer.config import (
    ReplayBufferConfig,
    check_fields,
    check_ring,
    check_state,
    takes_dtype_of,
)


class ReplayBuffer:
    """A ring buffer that counts every transition ever added and stores number k in k % capacity."""

    def __init__(self, config: ReplayBufferConfig, *, dtype: str, device: str = "cpu") -> None:
        self.config, self.device = config, device
        self._layout = config.layout(dtype)
        self._added = 0
        self._storage = {
            name: np.zeros((config.capacity, *shape), kind)
            for name, (shape, kind) in self._layout.items()
        }

    @property
    def size(self) -> Any:
        """Number of transitions held."""
        return np.asarray(min(self._added, self.config.capacity), np.int64)

    def add(self, transition: Mapping[str, Any]) -> None:
        """Store one transition, over the oldest one if the buffer is full."""
        row = _checked(transition, self._layout, batched=False)
        for name, value in row.items():
            self._storage[name][self._added % self.config.capacity] = value
        self._added += 1

    def add_batch(self, transitions: Mapping[str, Any]) -> None:
        """Store N transitions, row by row in order."""
        rows = _checked(transitions, self._layout, batched=True)
        for i in range(len(rows["reward"])):
            self.add({name: values[i] for name, values in rows.items()})

    def sample(self, indices: Any) -> dict[str, Any]:
        """Copies of the transitions in the given slots."""
        slots = self._slots(indices)
        return {
            name: np.array([values[slot] for slot in slots], values.dtype).reshape(
                len(slots), *values.shape[1:]
            )
            for name, values in self._storage.items()
        }

    def _slots(self, indices: Any) -> np.ndarray:
        """Indices as an array, all of them of filled slots."""
        slots = np.asarray(indices)
        if slots.ndim != 1:
            raise ShapeError(f"indices has shape {slots.shape}, must be [N]")
        if slots.dtype not in (np.int32, np.int64):
            raise DtypeError(f"indices is {slots.dtype}, must be int64 or int32")
        size = int(self.size)
        if size == 0:
            raise EmptyBufferError("the buffer is empty: add transitions before sampling")
        for position, slot in enumerate(slots):
            if not 0 <= slot < size:
                raise IndexError(f"indices[{position}] = {slot} is out of range [0, {size})")
        return slots

    def state(self) -> dict[str, Any]:
        """A copy of everything."""
        fields = {name: values.copy() for name, values in self._storage.items()}
        cursor = np.asarray(self._added % self.config.capacity, np.int64)
        return {**fields, "size": self.size, "cursor": cursor}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``state`` returned."""
        entries = {name: np.asarray(value) for name, value in state.items()}
        described = {name: (array.shape, array.dtype.name) for name, array in entries.items()}
        check_state(described, self._layout, self.config.capacity)
        size, cursor = int(entries["size"]), int(entries["cursor"])
        check_ring(size, cursor, self.config.capacity)
        for name in self._layout:
            self._storage[name] = entries[name].copy()
        self._added = size if size < self.config.capacity else self.config.capacity + cursor


def sample_indices(uniforms: Any, size: Any) -> Any:
    """Indices with replacement: ``min(floor(u * size), size - 1)``."""
    _require_floats("uniforms", uniforms)
    filled = int(size)
    if filled == 0:
        raise EmptyBufferError("size=0: there is nothing to sample from")
    return np.array(
        [min(int(np.floor(np.float64(u) * filled)), filled - 1) for u in uniforms], np.int64
    )


def indices_without_replacement(keys: Any, count: int, size: Any) -> Any:
    """Distinct indices: the places of the ``count`` smallest of the first ``size`` keys."""
    _require_floats("keys", keys)
    if not 1 <= count <= len(keys):
        raise ConfigError(f"count={count!r}: must be in [1, {len(keys)}], the number of keys")
    if count > int(size):
        raise EmptyBufferError(f"count={count}: the buffer holds only {int(size)} transitions")
    ranked = sorted(range(int(size)), key=lambda slot: (keys[slot], slot))
    return np.array(ranked[:count], np.int64)


def _require_floats(name: str, values: Any) -> None:
    if values.ndim != 1:
        raise ShapeError(f"{name} has shape {values.shape}, must be [N]")
    if values.dtype.kind != "f":
        raise DtypeError(f"{name} is {values.dtype}, must be floating")


def _checked(
    rows: Mapping[str, Any], layout: Mapping[str, tuple[tuple[int, ...], str]], *, batched: bool
) -> dict[str, np.ndarray]:
    """The fields as arrays of exactly the declared shapes and dtypes, all finite."""
    arrays = {name: _array(value, layout.get(name, ((), ""))[1]) for name, value in rows.items()}
    check_fields({n: (a.shape, a.dtype.name) for n, a in arrays.items()}, layout, batched=batched)
    for name in layout:
        array = arrays[name]
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise NonFiniteError(f"{name} holds {array[index]} at index {list(index)}")
    return {name: arrays[name] for name in layout}


def _array(value: Any, dtype: str) -> np.ndarray:
    """The value as an array; a Python number takes the field's dtype if it is of that kind."""
    return np.asarray(value, dtype if takes_dtype_of(value, dtype) else None)
