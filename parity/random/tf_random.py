"""Streams and their draws in TensorFlow: its own stateless Philox with our key and counter.

All draws but the eager uniform are built on ``StatelessRandomUniformFullIntV2``, because XLA makes
floats from other bits of the same words than TensorFlow's kernels do: with ``jit_compile=True`` its
``StatelessRandomUniformV2`` and ``StatelessRandomNormalV2`` give different numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from parity.errors import InvalidInput
from parity.random import arguments as check
from parity.random import distributions as dist
from parity.random import philox
from parity.random.distributions import Column
from parity.random.numpy_random import Stream
from parity.random.ops import Ops
from parity.random.selections import Selections

PHILOX = 1  # tf.random.Algorithm.PHILOX
MASK32 = philox.MASK32


class TFOps:
    """:class:`parity.random.ops.Ops` for TensorFlow."""

    exp = staticmethod(tf.exp)
    log = staticmethod(tf.math.log)
    sin = staticmethod(tf.sin)
    cos = staticmethod(tf.cos)
    sqrt = staticmethod(tf.sqrt)
    minimum = staticmethod(tf.minimum)
    maximum = staticmethod(tf.maximum)
    where = staticmethod(tf.where)
    cast = staticmethod(tf.cast)
    reshape = staticmethod(tf.reshape)
    broadcast_to = staticmethod(tf.broadcast_to)

    def is_tensor(self, value: Any) -> bool:
        return tf.is_tensor(value) or hasattr(value, "__tf_tensor__")

    def kind(self, value: Any) -> str:
        dtype = tf.as_dtype(value.dtype)
        return "f" if dtype.is_floating else "i" if dtype.is_integer else "?"

    def shape(self, value: Any) -> tuple[int, ...]:
        return tuple(value.shape)

    def asarray(self, value: Any, dtype: str) -> Any:
        if self.is_tensor(value):
            return tf.cast(tf.stop_gradient(tf.convert_to_tensor(value)), dtype)
        return tf.constant(np.asarray(value, dtype=dtype))

    def shift_right(self, value: Any, bits: int) -> Any:
        if isinstance(value, int):
            return value >> bits
        return tf.bitwise.right_shift(value, tf.constant(bits, value.dtype))

    def max_last(self, value: Any) -> Any:
        return tf.reduce_max(value, axis=-1, keepdims=True)

    def count_last(self, condition: Any) -> Any:
        return tf.reduce_sum(tf.cast(condition, tf.int64), axis=-1)

    def cumsum_last(self, value: Any) -> Any:
        return tf.cumsum(value, axis=-1)

    def argsort(self, value: Any) -> Any:
        return tf.cast(tf.argsort(value, stable=True), tf.int64)

    def count_not_above(self, ascending: Any, values: Any) -> Any:
        """Binary search: under XLA ``tf.searchsorted`` compares every value with every entry."""
        size = ascending.shape[0]
        position = tf.zeros_like(values)
        for bit in reversed(range(size.bit_length())):
            reach = position + 2**bit
            entry = tf.gather(ascending, tf.minimum(reach, size) - 1)
            position = tf.where((reach <= size) & (entry <= values), reach, position)
        return position


_OPS: Any = TFOps()


class TFStream(Selections, tf.experimental.ExtensionType):  # type: ignore[misc]
    """A stream whose draws are tensors: eager, in a ``tf.function``, and under XLA.

    An extension type: a stream can be an argument of a ``tf.function``, and another seed traces
    nothing anew.

    Args:
        state: uint32 [4] tensor, as of ``Stream.to_array``.
    """

    state: tf.Tensor

    def __validate__(self) -> None:
        if self.state.shape != (4,) or self.state.dtype != tf.uint32:
            raise InvalidInput(f"state of shape {self.state.shape}, {self.state.dtype}: uint32 [4]")

    @classmethod
    def from_words(cls, words: philox.Words) -> TFStream:
        return cls(tf.constant(words, dtype=tf.uint32))

    def numpy(self) -> Stream:
        """The same stream on the host; eager only."""
        return Stream.from_array(self.state.numpy())

    def split(self, name: str) -> TFStream:
        """The stream for one purpose, by name."""
        data = philox.name_words(check.check_name(name))
        return self._child(philox.SPLIT_DOMAIN, tf.constant(data, dtype=tf.uint32))

    def fold_in(self, step: Any) -> TFStream:
        """The stream for one step: a whole number or an integer tensor with one value.

        Inside a ``tf.function`` pass a tensor: a Python number would be frozen into the graph.
        """
        if _OPS.is_tensor(step):
            if step.shape.num_elements() != 1 or _OPS.kind(step) != "i":
                raise InvalidInput(
                    f"step of shape {tuple(step.shape)}, {step.dtype}: one whole number is needed"
                )
            number = tf.reshape(tf.cast(step, tf.int64), ())
        else:
            whole = check.check_seed(step, "step")
            number = tf.constant(whole - 2**64 if whole >= 2**63 else whole, tf.int64)
        data = tf.concat([tf.bitcast(number, tf.uint32), tf.zeros([2], tf.uint32)], axis=0)
        return self._child(philox.FOLD_DOMAIN, data)

    def _child(self, domain: int, data: Any) -> TFStream:
        mixed = tf.bitwise.bitwise_xor(
            self.state, tf.constant([domain & MASK32, domain >> 32, 0, 0], tf.uint32)
        )
        counter = tf.concat([data[:2], tf.bitwise.bitwise_xor(data[2:], mixed[2:])], axis=0)
        words = tf.raw_ops.StatelessRandomUniformFullIntV2(
            shape=[4], **_philox(mixed[:2], counter), dtype=tf.uint32
        )
        return TFStream(words)

    def _key_and_counter(self) -> dict[str, Any]:
        counter = tf.concat([tf.zeros([2], tf.uint32), self.state[2:]], axis=0)
        return _philox(self.state[:2], counter)

    def _raw(self, count: int, dtype: Any) -> Any:
        return tf.raw_ops.StatelessRandomUniformFullIntV2(
            shape=[count], **self._key_and_counter(), dtype=dtype
        )

    @property
    def _ops(self) -> Ops:
        ops: Ops = _OPS
        return ops

    def _bits(self, count: int, dtype: str) -> Any:
        return self._raw(count, tf.as_dtype(dtype))

    def _uniform(self, count: int, dtype: str) -> Any:
        if tf.executing_eagerly():  # never XLA: the kernel's own conversion, in one pass
            return tf.raw_ops.StatelessRandomUniformV2(
                shape=[count], **self._key_and_counter(), dtype=tf.as_dtype(dtype)
            )
        if dtype == "float32":
            return dist.uniform32(_OPS, self._raw(count, tf.int32), dtype)
        return super()._uniform(count, dtype)

    def _blocks(self, count: int, column: Column, columns: int, dtype: str, *aligned: Any) -> Any:
        words = tf.cast(self._raw(4 * count, tf.uint32), tf.int64)
        values = column(*tf.unstack(tf.reshape(words, [count, 4]), axis=1), *aligned)
        return tf.reshape(tf.stack([tf.cast(v, dtype) for v in values], axis=-1), [-1])


def _philox(key: Any, counter: Any) -> dict[str, Any]:
    """The arguments that say where a stateless operation draws: words as its uint64 tensors."""
    return {
        "key": tf.bitcast(tf.reshape(key, [1, 2]), tf.uint64),
        "counter": tf.bitcast(tf.reshape(counter, [2, 2]), tf.uint64),
        "alg": PHILOX,
    }
