"""Streams and their draws in NumPy; the identity of a stream on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parity.errors import InvalidInput, MissingFramework
from parity.random import arguments as check
from parity.random import philox
from parity.random.distributions import Column
from parity.random.ops import Ops
from parity.random.selections import Selections

if TYPE_CHECKING:
    from parity.random.tf_random import TFStream
    from parity.random.torch_random import TorchStream

#: Blocks computed at a time, so that intermediate arrays stay in the second-level cache.
CHUNK = 16384

Array = npt.NDArray[Any]


class NumpyOps:
    """:class:`parity.random.ops.Ops` for NumPy."""

    exp = staticmethod(np.exp)
    log = staticmethod(np.log)
    sin = staticmethod(np.sin)
    cos = staticmethod(np.cos)
    sqrt = staticmethod(np.sqrt)
    minimum = staticmethod(np.minimum)
    maximum = staticmethod(np.maximum)
    where = staticmethod(np.where)
    shape = staticmethod(np.shape)
    reshape = staticmethod(np.reshape)
    broadcast_to = staticmethod(np.broadcast_to)

    def is_tensor(self, value: Any) -> bool:
        return False

    def kind(self, value: Any) -> str:
        return {"f": "f", "i": "i", "u": "i"}.get(np.asarray(value).dtype.kind, "?")

    def asarray(self, value: Any, dtype: str) -> Array:
        return np.asarray(value, dtype=dtype)

    def cast(self, value: Any, dtype: str) -> Array:
        return np.asarray(value, dtype=dtype)

    def shift_right(self, value: Any, bits: int) -> Any:
        return value >> bits

    def max_last(self, value: Any) -> Array:
        return np.asarray(np.max(value, axis=-1, keepdims=True))

    def count_last(self, condition: Any) -> Array:
        return np.asarray(np.sum(condition, axis=-1, dtype=np.int64))

    def cumsum_last(self, value: Any) -> Array:
        return np.cumsum(value, axis=-1)

    def argsort(self, value: Any) -> Array:
        return np.argsort(value, kind="stable").astype(np.int64, copy=False)

    def count_not_above(self, ascending: Any, values: Any) -> Array:
        return np.asarray(np.searchsorted(ascending, values, side="right"))


_OPS: Any = NumpyOps()


@dataclass(frozen=True, init=False)
class Stream(Selections):
    """A stream of random numbers: 128 bits of state, no more. Draws are NumPy arrays.

    ``Stream(seed)`` draws what TensorFlow draws with ``seed=(seed, 0), alg="philox"``. Deriving is
    cheap here (Python integers), so derive first and ask for :meth:`torch` or :meth:`tf` last.

    Args:
        seed: a whole number of 64 bits, signed or unsigned.

    Raises:
        InvalidInput: the seed is not such a number.
    """

    words: philox.Words

    def __init__(self, seed: int) -> None:
        object.__setattr__(self, "words", philox.seed_words(check.check_seed(seed, "seed")))

    @classmethod
    def _of(cls, words: philox.Words) -> Stream:
        stream = cls.__new__(cls)
        object.__setattr__(stream, "words", words)
        return stream

    @classmethod
    def from_tf_seed(cls, seed: tuple[int, int]) -> Stream:
        """The stream that ``tf.random.stateless_*(seed=seed, alg="philox")`` draws from."""
        if not isinstance(seed, (tuple, list)) or len(seed) != 2:
            raise InvalidInput(f"seed={seed!r}: TensorFlow's stateless seeds are two numbers")
        first, second = (check.check_seed(part, "seed") for part in seed)
        return cls._of(philox.seed_words(first, second))

    @classmethod
    def from_array(cls, array: Any) -> Stream:
        """The stream whose :meth:`to_array` is ``array``: four whole numbers below 2^32."""
        values = np.asarray(array)
        if values.shape != (4,) or values.dtype.kind not in "iu":
            raise InvalidInput(f"state {array!r}: four whole numbers are needed")
        a, b, c, d = (int(value) for value in values)
        if not all(0 <= word <= philox.MASK32 for word in (a, b, c, d)):
            raise InvalidInput(f"state {array!r}: the numbers are at least 0 and below 2^32")
        return cls._of((a, b, c, d))

    def to_array(self) -> npt.NDArray[np.uint32]:
        """The whole state as uint32 [4], for a checkpoint."""
        return np.array(self.words, dtype=np.uint32)

    def split(self, name: str) -> Stream:
        """The stream for one purpose, by name: independent of this one and of other names."""
        data = philox.name_words(check.check_name(name))
        return self._of(philox.block(*philox.child_inputs(self.words, philox.SPLIT_DOMAIN, data)))

    def fold_in(self, step: int) -> Stream:
        """The stream for one step (or environment, or worker): distinct for each ``step``."""
        number = check.check_seed(step, "step")
        data = (number & philox.MASK32, number >> 32 & philox.MASK32, 0, 0)
        return self._of(philox.block(*philox.child_inputs(self.words, philox.FOLD_DOMAIN, data)))

    def environment_seed(self) -> int:
        """A seed of 31 bits for ``env.reset(seed=...)``: the first word without its lowest bit."""
        return int(self.bits((1,), dtype="uint32")[0] >> 1)

    def torch(self, device: Any = "cpu") -> TorchStream:
        """This stream for torch: the same numbers as tensors on ``device``.

        Raises:
            MissingFramework: torch is not installed.
        """
        try:
            from parity.random.torch_random import TorchStream
        except ImportError as error:
            raise MissingFramework("torch draws need torch: pip install 'parity[torch]'") from error
        return TorchStream.from_words(self.words, device)

    def tf(self) -> TFStream:
        """This stream for TensorFlow: the same numbers as tensors.

        Raises:
            MissingFramework: TensorFlow is not installed.
        """
        try:
            from parity.random.tf_random import TFStream
        except ImportError as error:
            raise MissingFramework("tf draws need tensorflow: pip install 'parity[tf]'") from error
        return TFStream.from_words(self.words)

    @property
    def _ops(self) -> Ops:
        ops: Ops = _OPS
        return ops

    def _blocks(self, count: int, column: Column, columns: int, dtype: str, *aligned: Any) -> Array:
        result = np.empty((count, columns), dtype=dtype)
        key, upper = self.words[:2], self.words[2:]
        for start in range(0, count, CHUNK):
            stop = min(start + CHUNK, count)
            index = np.arange(start, stop, dtype=np.uint64)
            counter = (index & np.uint64(philox.MASK32), index >> np.uint64(32), *upper)
            words = philox.blocks(counter, key)
            values = column(*words, *(part[start:stop] for part in aligned))
            for j, value in enumerate(values):
                result[start:stop, j] = value
        return result.reshape(-1)
