"""What is kept of an entry without its values: enough to see that two differ, or are one.

Made in one pass over blocks, in float64, so an array larger than memory can be described.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

SAMPLES = 8
"""Values kept of each entry, evenly spaced, the first and the last among them."""
BLOCK = 1 << 18


@dataclass(frozen=True)
class Statistics:
    """An entry without its values.

    Attributes:
        sha256: of the values' bytes (C order, little-endian): equal means equal bit for bit.
        min, max, mean, std, norm: over the finite values; of complex numbers, of the modulus; None
            where no value is finite. ``std`` divides by the count; ``norm`` is the root of the sum
            of squares.
        nan, inf, zero: how many values are NaN, infinite, zero.
        samples: (index in C order, value), evenly spaced.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    sha256: str
    min: float | None
    max: float | None
    mean: float | None
    std: float | None
    norm: float | None
    nan: int
    inf: int
    zero: int
    samples: tuple[tuple[int, Any], ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def to_json(self) -> dict[str, Any]:
        """All but dtype, shape and checksum, which stand beside it in a header."""
        numbers = {n: _plain(getattr(self, n)) for n in ("min", "max", "mean", "std", "norm")}
        counts = {"nan": self.nan, "inf": self.inf, "zero": self.zero}
        return {**numbers, **counts, "samples": [[i, _plain(v)] for i, v in self.samples]}

    @classmethod
    def from_json(
        cls, facts: Mapping[str, Any], dtype: np.dtype[Any], shape: tuple[int, ...], sha256: str
    ) -> Statistics:
        """The opposite of :meth:`to_json`.

        Raises:
            KeyError, TypeError, ValueError: the facts are not complete.
        """
        numbers = {n: _number(facts[n]) for n in ("min", "max", "mean", "std", "norm")}
        counts = {n: int(facts[n]) for n in ("nan", "inf", "zero")}
        samples = tuple((int(i), _number(v)) for i, v in facts["samples"])
        return cls(dtype, shape, sha256, samples=samples, **numbers, **counts)


class Describer:
    """Collects the statistics of one array, block by block in C order."""

    def __init__(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self.dtype, self.shape = dtype, shape
        self.digest = hashlib.sha256()
        self.seen = self.finite = self.nan = self.inf = self.zero = 0
        self.low: float | None = None
        self.high: float | None = None
        self.mean = self.squares = self.power = 0.0
        self.samples: list[tuple[int, Any]] = []
        self.wanted = sample_places(math.prod(shape))

    def add(self, block: np.ndarray) -> None:
        """The next values, one-dimensional and contiguous."""
        self.digest.update(
            block.data if block.dtype.kind in "biufc" else block.view(np.uint16).data
        )
        self._sample(block)
        values = block
        if block.dtype.kind not in "biufc":  # bfloat16
            values = block.astype(np.float32)
        elif block.dtype.kind == "c":
            values = np.abs(block)
        if values.dtype.kind == "f":
            nan = int(np.count_nonzero(np.isnan(values)))
            infinite = int(np.count_nonzero(np.isinf(values)))
            self.nan, self.inf = self.nan + nan, self.inf + infinite
            if nan or infinite:
                values = values[np.isfinite(values)]
        self.zero += values.size - int(np.count_nonzero(values))
        self.seen += block.size
        if values.size:
            self._merge(values)

    def _merge(self, values: np.ndarray) -> None:
        """Chan's update of mean and squared deviations, which loses no digits to a large mean."""
        low, high = values.min().item(), values.max().item()
        self.low = low if self.low is None else min(self.low, low)
        self.high = high if self.high is None else max(self.high, high)
        wide = values.astype(np.float64)
        with np.errstate(all="ignore"):
            mean = float(wide.mean())
            self.power += float(np.dot(wide, wide))
            wide -= mean
            gap, total = mean - self.mean, self.finite + wide.size
            self.squares += float(np.dot(wide, wide)) + gap * gap * self.finite * wide.size / total
            self.mean += gap * wide.size / total
        self.finite = total

    def _sample(self, block: np.ndarray) -> None:
        for place in self.wanted:
            if self.seen <= place < self.seen + block.size:
                value = block[place - self.seen]
                self.samples.append(
                    (place, value.item() if value.dtype.kind != "V" else float(value))
                )

    def result(self) -> Statistics:
        """The statistics, once every value was added."""
        some = self.finite > 0
        return Statistics(
            self.dtype,
            self.shape,
            self.digest.hexdigest(),
            self.low,
            self.high,
            self.mean if some else None,
            math.sqrt(self.squares / self.finite) if some and self.squares >= 0 else None,
            math.sqrt(self.power) if some else None,
            self.nan,
            self.inf,
            self.zero,
            tuple(self.samples),
        )


def describe(array: Any) -> Statistics:
    """The statistics of an array, or of an entry of a file.

    Args:
        array: an array, or anything with ``dtype``, ``shape`` and ``blocks(count)``.
    """
    describer = Describer(array.dtype, tuple(array.shape))
    for block in blocks(array, BLOCK):
        describer.add(block)
    return describer.result()


def blocks(array: Any, count: int) -> Iterable[np.ndarray]:
    """Consecutive contiguous pieces of at most ``count`` elements, in C order."""
    if not isinstance(array, np.ndarray):
        yield from array.blocks(count)
        return
    flat = np.ascontiguousarray(array).reshape(-1)
    for start in range(0, flat.size, count):
        yield flat[start : start + count]


def sample_places(size: int) -> list[int]:
    """Indices in C order, the same for every array of this size."""
    if size <= SAMPLES:
        return list(range(size))
    return [i * (size - 1) // (SAMPLES - 1) for i in range(SAMPLES)]


def _plain(value: Any) -> Any:
    """JSON has no NaN, infinity or complex number."""
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _number(value: Any) -> Any:
    if isinstance(value, list):
        real, imaginary = map(_number, value)
        return complex(real, imaginary)
    return float(value) if isinstance(value, str) else value
