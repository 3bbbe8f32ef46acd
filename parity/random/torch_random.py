"""Streams and their draws in torch: integer tensor operations, traceable, no host transfer."""

from __future__ import annotations

from typing import Any

import torch

from parity.errors import InvalidInput
from parity.random import arguments as check
from parity.random import philox
from parity.random.distributions import Column
from parity.random.numpy_random import Stream
from parity.random.ops import Ops
from parity.random.selections import Selections

#: Blocks computed at a time on an eager CPU: they stay in cache, and torch runs operations of this
#: size on one thread (over a hundred barriers a chunk cost more than a second core saves).
CHUNK = 32768
MASK32 = philox.MASK32
#: The multipliers less 2^32. A product with them stays inside int64 (see ``_lanes``).
NEGATIVE = tuple(m - 2**32 for m in philox.MULTIPLIERS)

DTYPES = {
    name: getattr(torch, name)
    for name in ("int32", "int64", "uint32", "uint64", "float32", "float64")
}


class TorchOps:
    """:class:`parity.random.ops.Ops` for torch, on one device."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    def kind(self, value: Any) -> str:
        if value.is_floating_point():
            return "f"
        return "?" if value.dtype is torch.bool or value.is_complex() else "i"

    def shape(self, value: Any) -> tuple[int, ...]:
        return tuple(value.shape)

    def asarray(self, value: Any, dtype: str) -> torch.Tensor:
        if isinstance(value, torch.Tensor):
            return value.detach().to(DTYPES[dtype])
        if isinstance(value, (int, float)):
            return torch.full((), value, dtype=DTYPES[dtype], device=self.device)
        return torch.as_tensor(value, device=self.device).to(DTYPES[dtype])

    def cast(self, value: Any, dtype: str) -> torch.Tensor:
        return _cast(value, dtype)

    def shift_right(self, value: Any, bits: int) -> Any:
        return value >> bits

    def sqrt(self, value: Any) -> torch.Tensor:
        return torch.sqrt(value)

    def exp(self, value: Any) -> torch.Tensor:
        return torch.exp(value)

    def log(self, value: Any) -> torch.Tensor:
        return torch.log(value)

    def sin(self, value: Any) -> torch.Tensor:
        return torch.sin(value)

    def cos(self, value: Any) -> torch.Tensor:
        return torch.cos(value)

    def minimum(self, left: Any, right: Any) -> torch.Tensor:
        return torch.minimum(left, right) if self.is_tensor(right) else left.clamp(max=right)

    def maximum(self, left: Any, right: Any) -> torch.Tensor:
        return torch.maximum(left, right) if self.is_tensor(right) else left.clamp(min=right)

    def where(self, condition: Any, left: Any, right: Any) -> torch.Tensor:
        return torch.where(condition, left, right)

    def max_last(self, value: Any) -> torch.Tensor:
        return torch.amax(value, dim=-1, keepdim=True)

    def count_last(self, condition: Any) -> torch.Tensor:
        return torch.sum(condition, dim=-1, dtype=torch.int64)

    def cumsum_last(self, value: Any) -> torch.Tensor:
        return torch.cumsum(value, dim=-1)

    def argsort(self, value: Any) -> torch.Tensor:
        return torch.argsort(value, stable=True)

    def count_not_above(self, ascending: Any, values: Any) -> torch.Tensor:
        return torch.searchsorted(ascending, values, right=True)

    def broadcast_to(self, value: Any, shape: tuple[int, ...]) -> torch.Tensor:
        return torch.broadcast_to(value, shape)

    def reshape(self, value: Any, shape: tuple[int, ...]) -> torch.Tensor:
        return torch.reshape(value, shape)


def _cast(value: torch.Tensor, dtype: str) -> torch.Tensor:
    if dtype.startswith("uint"):  # torch has few operations on these; the bits are the same
        return value.to(DTYPES[dtype[1:]]).view(DTYPES[dtype])
    return value.to(DTYPES[dtype])


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _name_words(name: str) -> philox.Words:
    return philox.name_words(name)


def _lanes(counter: tuple[Any, Any, Any, Any], k0: Any, k1: Any) -> tuple[Any, Any, Any, Any]:
    """The four words of blocks; counters and keys are integers or int64 tensors below 2^32.

    A product of two 32-bit numbers needs 64 unsigned bits. With ``m - 2^32`` for ``m`` it fits the
    signed ones: the lower half is the same and the upper half is smaller by the other factor.
    """
    c0, c1, c2, c3 = counter
    for key0, key1 in philox.key_schedule(k0, k1):
        p0, p1 = c0 * NEGATIVE[0], c2 * NEGATIVE[1]
        upper0, upper1 = p0 >> 32, p1 >> 32
        upper0 += c0  # in place where these are tensors: nobody else holds them
        upper1 += c2
        upper0 ^= c3
        upper1 ^= c1
        upper0 ^= key1
        upper1 ^= key0
        p0 &= MASK32
        p1 &= MASK32
        c0, c1, c2, c3 = upper1, p1, upper0, p0
    return c0, c1, c2, c3


class TorchStream(Selections):
    """A stream whose draws are torch tensors, in eager mode and inside ``torch.compile``.

    ``state`` is a tensor, so that a stream that is closed over, passed in or held by a module is an
    input of the graph and another seed compiles nothing anew.

    Args:
        state: int64 [4] with values in [0, 2^32), as of ``Stream.to_array``; its device is where
            the draws are made.
    """

    def __init__(self, state: torch.Tensor) -> None:
        if state.shape != (4,) or state.dtype is not torch.int64:
            raise InvalidInput(f"state of shape {tuple(state.shape)}, {state.dtype}: int64 [4]")
        self.state = state

    @classmethod
    def from_words(cls, words: philox.Words, device: Any = "cpu") -> TorchStream:
        return cls(torch.tensor(words, dtype=torch.int64, device=device))

    def numpy(self) -> Stream:
        """The same stream on the host; waits for the device."""
        return Stream.from_array(self.state.cpu().numpy())

    def split(self, name: str) -> TorchStream:
        """The stream for one purpose, by name."""
        data = _name_words(check.check_name(name))
        return self._child(philox.SPLIT_DOMAIN, data)

    def fold_in(self, step: Any) -> TorchStream:
        """The stream for one step: a whole number or an integer tensor with one value.

        Inside a compiled step pass a tensor: a Python number would be frozen into the graph.
        """
        if isinstance(step, torch.Tensor):
            if step.numel() != 1 or self._ops.kind(step) != "i":
                raise InvalidInput(
                    f"step of shape {tuple(step.shape)}, {step.dtype}: one whole number is needed"
                )
            number: Any = step.reshape(()).to(torch.int64)
        else:
            number = check.check_seed(step, "step")
            if torch.compiler.is_compiling():  # a traced Python number: Inductor needs a tensor
                signed = number - 2**64 if number >= 2**63 else number
                number = torch.full((), signed, dtype=torch.int64, device=self.state.device)
        return self._child(philox.FOLD_DOMAIN, (number & MASK32, number >> 32 & MASK32, 0, 0))

    def _child(self, domain: int, data: Any) -> TorchStream:
        counter, key = philox.child_inputs(self._state_words(), domain, data)
        words = _lanes(counter, *key)
        if isinstance(words[0], int):
            return TorchStream(torch.tensor(words, dtype=torch.int64))
        return TorchStream(torch.stack(words))

    def _state_words(self) -> Any:
        """Four integers where they can be read for free (eager CPU), else four scalar tensors."""
        if self._on_eager_cpu():
            return self.state.tolist()
        return self.state.unbind()

    def _on_eager_cpu(self) -> bool:
        compiling = torch.compiler.is_compiling()
        return (
            not compiling and type(self.state) is torch.Tensor and self.state.device.type == "cpu"
        )

    @property
    def _ops(self) -> Ops:
        return TorchOps(self.state.device)

    def _blocks(
        self, count: int, column: Column, columns: int, dtype: str, *aligned: Any
    ) -> torch.Tensor:
        if count <= CHUNK or not self._on_eager_cpu():
            return torch.stack(self._columns(0, count, column, dtype, aligned), dim=-1).reshape(-1)
        result = torch.empty((count, columns), dtype=DTYPES[dtype])
        for start in range(0, count, CHUNK):
            stop = min(start + CHUNK, count)
            parts = tuple(part[start:stop] for part in aligned)
            for j, value in enumerate(self._columns(start, stop, column, dtype, parts)):
                result[start:stop, j] = value
        return result.reshape(-1)

    def _columns(
        self, start: int, stop: int, column: Column, dtype: str, aligned: tuple[Any, ...]
    ) -> list[torch.Tensor]:
        k0, k1, c2, c3 = self._state_words()
        index = torch.arange(start, stop, dtype=torch.int64, device=self.state.device)
        if isinstance(c2, torch.Tensor):
            c2, c3 = c2.expand(stop - start), c3.expand(stop - start)
        words = _lanes((index & MASK32, index >> 32, c2, c3), k0, k1)
        return [_cast(value, dtype) for value in column(*words, *aligned)]
