"""Ring buffer and index sampling on preallocated ``tf.Variable``s; works inside ``tf.function``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from impls.errors import ConfigError, DtypeError, EmptyBufferError, NonFiniteError, ShapeError
from impls.replay_buffer.config import (
    Layout,
    ReplayBufferConfig,
    check_fields,
    check_ring,
    check_state,
    takes_dtype_of,
)


class ReplayBuffer:
    """A ring buffer whose fields, size and cursor are variables on one device."""

    def __init__(self, config: ReplayBufferConfig, *, dtype: str, device: str = "cpu") -> None:
        self.config = config
        self.device = _device(device)
        self._layout = config.layout(dtype)
        with tf.device(self.device):
            self._storage = {
                name: tf.Variable(tf.zeros((config.capacity, *shape), kind), trainable=False)
                for name, (shape, kind) in self._layout.items()
            }
            self._size = tf.Variable(0, dtype=tf.int64, trainable=False)
            self._cursor = tf.Variable(0, dtype=tf.int64, trainable=False)

    @property
    def size(self) -> Any:
        """Number of transitions held, as it is now: later additions do not change it."""
        return tf.identity(self._size)

    def add(self, transition: Mapping[str, Any]) -> None:
        """Store one transition, over the oldest one if the buffer is full."""
        row = self._checked(transition, batched=False)
        self._write({name: value[tf.newaxis] for name, value in row.items()})

    def add_batch(self, transitions: Mapping[str, Any]) -> None:
        """Store N transitions, row by row in order."""
        self._write(self._checked(transitions, batched=True))

    def sample(self, indices: Any) -> dict[str, Any]:
        """Copies of the transitions in the given slots."""
        slots = self._slots(indices)
        return {name: tf.gather(values, slots) for name, values in self._storage.items()}

    def state(self) -> dict[str, Any]:
        """A copy of everything."""
        fields = {name: tf.identity(values) for name, values in self._storage.items()}
        return {**fields, "size": tf.identity(self._size), "cursor": tf.identity(self._cursor)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``state`` returned."""
        entries = {name: tf.convert_to_tensor(value) for name, value in state.items()}
        described = {name: (tuple(t.shape), t.dtype.name) for name, t in entries.items()}
        check_state(described, self._layout, self.config.capacity)
        check_ring(int(entries["size"]), int(entries["cursor"]), self.config.capacity)
        for name in self._layout:
            self._storage[name].assign(entries[name])
        self._size.assign(entries["size"])
        self._cursor.assign(entries["cursor"])

    def _slots(self, indices: Any) -> tf.Tensor:
        """Indices as a tensor, all of them of filled slots."""
        slots = tf.convert_to_tensor(indices)
        if slots.shape.rank != 1:
            raise ShapeError(f"indices has shape {slots.shape.as_list()}, must be [N]")
        if slots.dtype not in (tf.int32, tf.int64):
            raise DtypeError(f"indices is {slots.dtype.name}, must be int64 or int32")
        return _require_filled(tf.cast(slots, tf.int64), self._size)

    def _write(self, rows: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Write rows behind the newest one; the slots of those that were kept."""
        capacity = tf.constant(self.config.capacity, tf.int64)
        count = tf.shape(rows["reward"], out_type=tf.int64)[0]
        kept = tf.minimum(count, capacity)  # two rows for one slot would be written in any order
        first = self._cursor + (count - kept)
        slots = (first + tf.range(kept)) % capacity
        with tf.control_dependencies(list(rows.values())):  # in a graph: all rows or none
            for name, values in self._storage.items():
                values.scatter_nd_update(slots[:, tf.newaxis], rows[name][count - kept :])
            self._cursor.assign((self._cursor + count) % capacity)
            self._size.assign(tf.minimum(self._size + count, capacity))
        return slots

    def _checked(
        self, rows: Mapping[str, Any], *, batched: bool, layout: Layout | None = None
    ) -> dict[str, tf.Tensor]:
        """The fields as tensors of exactly the declared shapes and dtypes, all finite."""
        layout = layout or self._layout
        tensors = {n: _tensor(v, layout.get(n, ((), ""))[1]) for n, v in rows.items()}
        described = {name: (tuple(t.shape), t.dtype.name) for name, t in tensors.items()}
        check_fields(described, layout, batched=batched)
        return {name: _require_finite(name, tensors[name]) for name in layout}


def sample_indices(uniforms: Any, size: Any) -> Any:
    """Indices with replacement: ``min(floor(u * size), size - 1)``."""
    _require_floats("uniforms", uniforms)
    filled = tf.cast(size, tf.int64)
    if tf.executing_eagerly() and int(filled) == 0:
        raise EmptyBufferError("size=0: there is nothing to sample from")
    slots = tf.floor(tf.cast(uniforms, tf.float64) * tf.cast(filled, tf.float64))
    return tf.minimum(tf.cast(slots, tf.int64), filled - 1)


def indices_without_replacement(keys: Any, count: int, size: Any) -> Any:
    """Distinct indices: the places of the ``count`` smallest of the first ``size`` keys."""
    _require_floats("keys", keys)
    if not 1 <= count <= keys.shape[0]:
        raise ConfigError(f"count={count!r}: must be in [1, {keys.shape[0]}], the number of keys")
    filled = tf.cast(size, tf.int64)
    if tf.executing_eagerly() and count > int(filled):
        raise EmptyBufferError(f"count={count}: the buffer holds only {int(filled)} transitions")
    empty = tf.range(keys.shape[0], dtype=tf.int64) >= filled
    # among equal values top_k gives the lower index first, which tf.argsort does not promise
    largest = tf.math.top_k(tf.where(empty, -keys.dtype.max, -keys), k=count)
    return tf.cast(largest.indices, tf.int64)


def _require_floats(name: str, values: tf.Tensor) -> None:
    if values.shape.rank != 1:
        raise ShapeError(f"{name} has shape {values.shape.as_list()}, must be [N]")
    if not values.dtype.is_floating:
        raise DtypeError(f"{name} is {values.dtype.name}, must be floating")


def _require_filled(slots: tf.Tensor, filled: tf.Variable) -> tf.Tensor:
    """The slots; in a graph, what is made of them is made only if all of them are filled."""
    outside = (slots < 0) | (slots >= filled)
    if not tf.executing_eagerly():
        said = ["indices out of range", slots, filled]
        with tf.control_dependencies([tf.debugging.Assert(~tf.reduce_any(outside), said)]):
            return tf.identity(slots)
    size = int(filled)
    if size == 0:
        raise EmptyBufferError("the buffer is empty: add transitions before sampling")
    if bool(tf.reduce_any(outside)):
        position = int(tf.where(outside)[0, 0])
        raise IndexError(
            f"indices[{position}] = {int(slots[position])} is out of range [0, {size})"
        )
    return slots


def _require_finite(name: str, values: tf.Tensor) -> tf.Tensor:
    if not values.dtype.is_floating:
        return values
    if not tf.executing_eagerly():
        return tf.debugging.check_numerics(values, f"{name} is not finite")
    finite = tf.math.is_finite(values)
    if not bool(tf.reduce_all(finite)):
        index = tf.where(~finite)[0].numpy().tolist()
        value = float(values.numpy()[tuple(index)])
        raise NonFiniteError(f"{name} holds {value} at index {index}")
    return values


def _tensor(value: Any, dtype: str) -> tf.Tensor:
    """The value as a tensor; a Python number takes the field's dtype if it is of that kind."""
    if tf.is_tensor(value):
        return tf.convert_to_tensor(value)
    return tf.constant(np.asarray(value, dtype if takes_dtype_of(value, dtype) else None))


def _device(device: str) -> str:
    """``cuda:1`` in TensorFlow's words."""
    kind, _, index = device.partition(":")
    return f"/{'CPU' if kind == 'cpu' else 'GPU'}:{index or 0}"
