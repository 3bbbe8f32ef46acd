"""The draws: written once, run by NumPy, torch and TensorFlow.

A stream is a value. Drawing does not advance it: the same draw of the same stream gives the same
numbers again, and two different draws of one stream are *not* independent. Derive a stream for each
purpose with ``split`` and for each step with ``fold_in``, and draw once from each.

Values come in row-major order, and the value at flat position ``i`` depends on the stream, the
dtype and ``i`` alone: a longer draw begins with the shorter one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from parity.errors import InvalidInput
from parity.random import arguments as check
from parity.random import distributions as dist
from parity.random.ops import Ops

Shape = int | Sequence[int]
#: Normals are computed for a multiple of this many blocks. TensorFlow's logarithm of the ragged end
#: of an array differs in the last digit from that of a whole vector, and so would depend on size.
WHOLE_VECTORS = 16


class Draws(ABC):
    """Draws of one stream. Subclasses say where the words come from."""

    @property
    @abstractmethod
    def _ops(self) -> Ops:
        """The framework's functions."""

    @abstractmethod
    def _blocks(
        self, count: int, column: dist.Column, columns: int, dtype: str, *aligned: Any
    ) -> Any:
        """``column(word0, .., word3, *aligned)`` of ``count`` blocks, interleaved into a vector.

        ``aligned`` are vectors of one entry per block; ``columns`` says how many values a block
        gives. Words are int64 in [0, 2^32).
        """

    def _words(self, count: int, column: dist.Column, dtype: str) -> Any:
        """``column(word)`` of the first ``count`` words."""

        def four(*words: Any) -> tuple[Any, ...]:
            return tuple(column(word) for word in words)

        return self._blocks(-(-count // 4), four, 4, dtype)[:count]

    def _pairs(self, count: int, column: dist.Column, dtype: str) -> Any:
        """``column(first, second)`` of the first ``count`` pairs of words."""

        def two(*words: Any) -> tuple[Any, ...]:
            return column(words[0], words[1]), column(words[2], words[3])

        return self._blocks(-(-count // 2), two, 2, dtype)[:count]

    def _uniform(self, count: int, dtype: str) -> Any:
        """The first ``count`` uniforms of [0, 1)."""
        ops = self._ops
        if dtype == "float32":
            return self._words(count, lambda word: dist.uniform32(ops, word, dtype), dtype)
        return self._pairs(count, lambda a, b: dist.uniform64(ops, a, b), dtype)

    def bits(self, shape: Shape, *, dtype: str = "int64") -> Any:
        """Full-range integers: each value of the dtype is equally likely.

        A 32-bit value is one word; a 64-bit value is two, the lower word first.

        Args:
            shape: of the result.
            dtype: int32, int64, uint32 or uint64; signed ones are two's complement.

        Raises:
            InvalidInput: another dtype, or a negative or unknown size.
        """
        shape = check.check_shape(shape)
        check.check_dtype(dtype, check.BITS)
        return self._ops.reshape(self._bits(check.size_of(shape), dtype), shape)

    def _bits(self, count: int, dtype: str) -> Any:
        if dtype.endswith("32"):
            return self._words(count, lambda word: word, dtype)
        return self._pairs(count, dist.signed64, dtype)

    def uniform(
        self, shape: Shape, *, low: float = 0.0, high: float = 1.0, dtype: str = "float32"
    ) -> Any:
        """Uniforms of [low, high): ``u (high - low) + low``, rounded after each operation.

        ``u`` has 23 bits in float32 (one word) and 52 in float64 (two words), as in TensorFlow.
        Rounding can reach ``high`` where the range is not [0, 1).

        Args:
            shape: of the result.
            low: smallest value.
            high: bound that is not reached but by rounding.
            dtype: float32 or float64.

        Raises:
            InvalidInput: another dtype, a negative or unknown size, or ``low >= high``.
        """
        shape = check.check_shape(shape)
        check.check_dtype(dtype, check.FLOATS)
        ops = self._ops
        u = self._uniform(check.size_of(shape), dtype)
        if (low, high) != (0.0, 1.0):
            check.check_float_range(low, high, dtype)
            start = ops.asarray(low, dtype)
            width = ops.asarray(high, dtype) - start
            # The product never exceeds ``width``. The minimum keeps compilers from contracting
            # product and sum into one operation with one rounding.
            u = ops.minimum(u * width, width) + start
        return ops.reshape(u, shape)

    def normal(self, shape: Shape, *, dtype: str = "float32") -> Any:
        """Standard normals by Box and Muller, computed in float64 and rounded once.

        A float32 block of four words gives (sin, cos, sin, cos) from the 23-bit uniforms of words
        (0, 1) and (2, 3); a float64 block gives (sin, cos) from two 52-bit uniforms. The largest
        possible magnitude is 5.678, as in TensorFlow.

        Args:
            shape: of the result.
            dtype: float32 or float64.

        Raises:
            InvalidInput: another dtype, or a negative or unknown size.
        """
        shape = check.check_shape(shape)
        check.check_dtype(dtype, check.FLOATS)
        count = check.size_of(shape)
        columns, column = (4, dist.normal32) if dtype == "float32" else (2, dist.normal64)
        blocks = -(-count // (columns * WHOLE_VECTORS)) * WHOLE_VECTORS
        z = self._blocks(blocks, column(self._ops), columns, dtype)
        return self._ops.reshape(z[:count], shape)

    def bernoulli(self, p: Any, shape: Shape) -> Any:
        """True with probability ``p``: ``word < floor(p 2^32)``, one word per value.

        Args:
            p: probability; a number, or floats that broadcast to ``shape``.
            shape: of the result.

        Returns:
            Booleans. ``p=1`` is always true, ``p=0`` never.

        Raises:
            InvalidInput: a probability outside [0, 1] (tensors' values are not read), a dtype that
                is not floating, or a negative or unknown size.
        """
        shape, ops = check.check_shape(shape), self._ops
        if ops.is_tensor(p):
            if ops.kind(p) != "f":
                raise InvalidInput("p: probabilities are floating numbers")
            check.check_broadcast(ops.shape(p), shape, "p")
        elif isinstance(p, (int, float)):
            check.check_rate(p, "p")
        else:
            p = check.check_rates(p, "p")
            check.check_broadcast(p.shape, shape, "p")
        words = self._words(check.size_of(shape), lambda word: word, "int64")
        threshold = ops.cast(ops.asarray(p, "float64") * 2.0**32, "int64")
        return ops.reshape(words, shape) < threshold

    def dropout_mask(self, rate: float, shape: Shape, *, dtype: str = "float32") -> Any:
        """The factors of inverted dropout: 0 with probability ``rate``, else ``1 / (1 - rate)``.

        Source: Srivastava et al., "Dropout", JMLR 2014, with the scale applied in training.

        Args:
            rate: probability of a zero, in [0, 1).
            shape: of the result.
            dtype: float32 or float64.

        Raises:
            InvalidInput: another dtype, a negative or unknown size, a rate outside [0, 1).
        """
        check.check_dtype(dtype, check.FLOATS)
        check.check_rate(rate, "rate", below_one=True)
        keep = self.bernoulli(1.0 - rate, shape)
        return self._ops.cast(keep, dtype) * self._ops.asarray(1.0 / (1.0 - rate), dtype)
