"""Streams and their draws in TensorFlow: its own stateless Philox with our key and counter.

All draws but the eager uniform are built on ``StatelessRandomUniformFullIntV2``, because XLA makes
floats from other bits of the same words than TensorFlow's kernels do: with ``jit_compile=True`` its
``StatelessRandomUniformV2`` and ``StatelessRandomNormalV2`` give different numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
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
        state: uint64 [2], the key and the upper half of the counter:
            ``Stream.to_array().view("uint64")``.
    """

    state: tf.Tensor

    def __validate__(self) -> None:
        if self.state.shape != (2,) or self.state.dtype != tf.uint64:
            raise InvalidInput(f"state of shape {self.state.shape}, {self.state.dtype}: uint64 [2]")

    @classmethod
    def from_words(cls, words: philox.Words) -> TFStream:
        return cls(tf.constant(_pairs(words)))

    def numpy(self) -> Stream:
        """The same stream on the host; eager only."""
        return Stream.from_array(self.state.numpy().view(np.uint32))

    def split(self, name: str) -> TFStream:
        """The stream for one purpose, by name."""
        data = _pairs(philox.name_words(check.check_name(name)))
        return self._child(philox.SPLIT_DOMAIN, tf.constant(data))

    def fold_in(self, step: Any) -> TFStream:
        """The stream for one step: a whole number or an integer tensor with one value.

        Inside a ``tf.function`` pass a tensor: a Python number would be frozen into the graph.
        """
        if _OPS.is_tensor(step):
            if step.shape.num_elements() != 1 or _OPS.kind(step) != "i":
                raise InvalidInput(
                    f"step of shape {tuple(step.shape)}, {step.dtype}: one whole number is needed"
                )
            number = tf.bitcast(tf.reshape(tf.cast(step, tf.int64), [1]), tf.uint64)
        else:
            number = tf.constant(np.array([check.check_seed(step, "step") % 2**64], np.uint64))
        return self._child(philox.FOLD_DOMAIN, tf.pad(number, [[0, 1]]))

    def _child(self, domain: int, data: Any) -> TFStream:
        """``philox.child_inputs`` on the two halves of key and counter."""
        key = tf.bitwise.bitwise_xor(self.state[:1], tf.constant([domain], tf.uint64))
        counter = tf.bitwise.bitwise_xor(data, tf.pad(self.state[1:], [[1, 0]]))
        return TFStream(_full_int(2, tf.uint64, key, counter))

    def _raw(self, count: int, dtype: Any) -> Any:
        return _full_int(count, dtype, *self._key_and_counter())

    def _key_and_counter(self) -> tuple[Any, Any]:
        """Where draws start. XLA sees that the lower half is zero and drops the carry."""
        return self.state[:1], tf.pad(self.state[1:], [[1, 0]])

    @property
    def _ops(self) -> Ops:
        ops: Ops = _OPS
        return ops

    def _bits(self, count: int, dtype: str) -> Any:
        return self._raw(count, tf.as_dtype(dtype))

    def _uniform(self, count: int, dtype: str) -> Any:
        if tf.executing_eagerly():  # never XLA: the kernel's own conversion, in one pass
            key, counter = self._key_and_counter()
            return tf.raw_ops.StatelessRandomUniformV2(
                shape=[count], key=key, counter=counter, alg=PHILOX, dtype=tf.as_dtype(dtype)
            )
        if dtype == "float32":
            return dist.uniform32(_OPS, self._raw(count, tf.int32), dtype)
        return super()._uniform(count, dtype)

    def _blocks(self, count: int, column: Column, columns: int, dtype: str, *aligned: Any) -> Any:
        words = tf.cast(self._raw(4 * count, tf.uint32), tf.int64)
        values = column(*tf.unstack(tf.reshape(words, [count, 4]), axis=1), *aligned)
        return tf.reshape(tf.stack([tf.cast(v, dtype) for v in values], axis=-1), [-1])


def _pairs(words: philox.Words) -> npt.NDArray[np.uint64]:
    """Four 32-bit words as two numbers, lower word first.

    An array, because in a graph ``tf.constant`` rounds a list with numbers above 2^63 to float64.
    """
    return np.array([words[1] << 32 | words[0], words[3] << 32 | words[2]], dtype=np.uint64)


def _full_int(count: int, dtype: Any, key: Any, counter: Any) -> Any:
    """``count`` full-range integers of Philox; uint64 [1] of key and [2] of counter."""
    return tf.raw_ops.StatelessRandomUniformFullIntV2(
        shape=[count], key=key, counter=counter, alg=PHILOX, dtype=dtype
    )
