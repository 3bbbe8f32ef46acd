"""Bounds of one block in its own precision: what cannot change a result need not be exact.

For each element the computed gap, relative gap and share are within a few roundings of the exact
ones. ``ROUNDINGS`` bounds those, so an element can change a maximum only if its computed value is
at least that maximum less the roundings. Few arrays are touched for two close blocks, so that they
stay in the cache: the gaps take the place of the steps, and the relative gaps that of the gaps.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from parity.scan_exact import Workspace, whole_steps

_BITS = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
_CLOSE = 13
"""Two numbers of one sign are close where at most 2**-13 of a doubling apart, in steps."""
ROUNDINGS = 4.0
"""Units in the last place by which a computed bound may be off: three operations of half a unit,
and the rounding of a reference. Near zero they are as many of the smallest numbers."""

INEXACT = 0.49
"""The difference of two numbers of one sign within a factor of two has no rounding, so one with a
rounding is at least half the larger magnitude."""


def precision(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any] | None:
    """The dtype in which two arrays are looked at first; None where it takes exact means."""
    if a.name not in _BITS or b.name not in _BITS:
        return None
    wide = a != b or a.itemsize == 8
    return np.dtype(np.float64 if wide else np.float32)


class Bounds:
    """A block of two arrays of one dtype, floating and real.

    Attributes:
        ulp: whether steps of this dtype are steps of the values that were given.
        identical: bit for bit; the others are set by :meth:`measure` where it is false.
        a, b: the values in float32 or float64.
        odd: a mask of places where a value is not finite, or the gap overflows; they count as equal
            in all that is below. None where there are none.
        close: all other values are: a gap is then exact, and either magnitude serves for both.
        max_gap, max_relative, max_share: largest ones as computed.
    """

    def __init__(self, a: np.ndarray, b: np.ndarray, room: Workspace, ulp: bool) -> None:
        self.own, self.room, self.ulp, self.size = (a, b), room, ulp, a.size
        self.odd: np.ndarray | None = None
        self.share: np.ndarray | None = None
        self._gap: np.ndarray | None = None
        self._keep: np.ndarray | None = None
        self.steps = self._count_steps()
        self.identical = self.steps == 0

    def _count_steps(self) -> int:
        a, b = self.own
        signed = f"i{a.itemsize}"
        steps = self.room("work", signed, self.size)
        np.subtract(a.view(signed), b.view(signed), out=steps)
        self._leave_out(steps)
        return max(int(np.maximum.reduce(steps)), -int(np.minimum.reduce(steps)))

    def measure(self, dtype: np.dtype[Any]) -> None:
        """Compute gaps and relative gaps."""
        self.dtype, self.bits = dtype, _BITS[dtype.name]
        self.eps = ROUNDINGS * 2.0**-self.bits
        self.tiny = ROUNDINGS * float(np.finfo(dtype).smallest_subnormal)
        a, b = self.own
        self.a, self.b = self.room.widened("a", a, dtype), self.room.widened("b", b, dtype)
        gap = np.subtract(self.a, self.b, out=self.room("work", dtype, self.size))
        self.max_gap = max(float(np.maximum.reduce(gap)), -float(np.minimum.reduce(gap)))
        if not math.isfinite(self.max_gap):  # a value is NaN or infinite, or the gap overflows
            self._set_apart(gap)
            np.subtract(self.a, self.b, out=gap)
            self._leave_out(gap)
            self.max_gap = max(float(np.maximum.reduce(gap)), -float(np.minimum.reduce(gap)))
        self.close = a.dtype == dtype and self.steps <= 1 << (self.bits - _CLOSE)
        self.slack = self.eps + (self.steps * 2.0**-self.bits if self.close else 0.0)
        self._divide(gap)

    def _set_apart(self, gap: np.ndarray) -> None:
        fine = np.isfinite(gap)
        self.odd = ~fine
        # multiplying or copying under a mask would keep NaN, or take twenty times as long
        self._keep = fine.astype(f"i{gap.itemsize}")
        np.negative(self._keep, out=self._keep)
        self.steps = self._count_steps()

    def _leave_out(self, values: np.ndarray) -> None:
        """Put 0 at the odd places."""
        if self._keep is not None:
            bits = values.view(f"i{values.itemsize}")
            np.bitwise_and(bits, self._keep.astype(bits.dtype, copy=False), out=bits)

    def _divide(self, gap: np.ndarray) -> None:
        if self.close:  # signs are left on, which saves passes; near zero the bound is an upper one
            self.magnitude, self._gap = self.a, None
            self._relative: np.ndarray = np.divide(gap, self.a, out=gap)
            low = float(np.fmin.reduce(gap))
        else:
            self._gap = np.abs(gap, out=gap)
            self.magnitude = np.abs(self.a, out=self.room("magnitude", self.dtype, self.size))
            other = np.abs(self.b, out=self.room("other", self.dtype, self.size))
            np.maximum(self.magnitude, other, out=self.magnitude)
            self._relative, low = np.divide(gap, self.magnitude, out=other), 0.0
        # 0 / 0 is NaN, which no comparison below takes for large
        self.max_relative = max(float(np.fmax.reduce(self._relative)), -low)
        self.max_share = min(self.max_gap, self.max_relative)
        self._signed = self.close

    @property
    def gap_is_exact(self) -> bool:
        """Whether no gap of the block has a rounding."""
        return self.close or self.own[0].itemsize == 8  # by definition, for float64

    @property
    def relative_limit(self) -> float:
        """No relative gap can be larger."""
        return 1.0 if self.one_sign else 2.0

    @property
    def one_sign(self) -> bool:
        """Numbers of opposite signs are at least 2**bits + 1 apart in steps, however near zero."""
        return self.steps <= 1 << _BITS[self.own[0].dtype.name]

    def max_ulp(self, known: float) -> float:
        """Largest distance in representable numbers; exact where more than ``known``."""
        if self.one_sign:
            return float(self.steps)
        if not self._ulp_limit() > known:
            return known
        steps = whole_steps(*self.own, self.room)
        self._leave_out(steps)
        return float(np.maximum.reduce(steps))

    def _ulp_limit(self) -> float:
        """Of one sign: all steps up to the larger number. Else those of two halves of the gap,
        because the steps up to a number are concave in it."""
        kind = self.own[0].dtype.type
        values = kind(np.fmax.reduce(self.magnitude)), kind(self.max_gap / 2)
        whole, half = (int(v.view(f"u{v.itemsize}")) + 2 for v in values)
        return float(max(whole, 2 * half))

    def scale_by(self, reference: np.ndarray) -> bool:
        """Let a reference scale the shares; False where it takes exact means."""
        scale = self.room("scale", self.dtype, self.size)
        np.copyto(scale, reference, casting="unsafe")
        np.abs(scale, out=scale)
        if not np.isfinite(np.maximum.reduce(scale)):  # NaN or infinity sets no scale
            known = np.isfinite(reference)
            if not np.array_equal(known, np.isfinite(scale)):
                return False  # it overflows
            keep = -known.astype(f"i{scale.itemsize}")
            bits = scale.view(keep.dtype)
            bits &= keep
            np.invert(keep, out=keep)
            keep &= np.abs(self.magnitude).view(keep.dtype)
            bits |= keep
        np.maximum(scale, 1, out=scale)
        self.share = np.divide(self.gaps(), scale, out=scale)
        self.max_share = float(np.fmax.reduce(scale))
        return True

    def gaps(self) -> np.ndarray:
        """Computed gaps, without sign."""
        if self._gap is not None:
            return self._gap
        gap = self._gap = self.room("gap", self.dtype, self.size)
        np.abs(np.subtract(self.a, self.b, out=gap), out=gap)
        self._leave_out(gap)
        return gap

    def relatives(self) -> np.ndarray:
        """Computed relative gaps, without sign; NaN where both are 0."""
        if self._signed:
            np.abs(self._relative, out=self._relative)
            self._signed = False
        return self._relative

    def shares(self) -> np.ndarray:
        """Computed shares: ``gap / max(1, magnitude)`` is the smaller of gap and relative gap."""
        if self.share is not None:
            return self.share
        share = self.share = self.room("share", self.dtype, self.size)
        np.fmin(self.gaps(), self.relatives(), out=share)
        self.max_share = float(np.fmax.reduce(share))
        return share

    def most(self, computed: float) -> float:
        """What the exact value can be at most."""
        return computed * (1 + self.eps) + self.tiny

    def first(self, values: np.ndarray, largest: float) -> slice:
        """The first place of the largest value; NaN is none, nor is an odd place."""
        mask = np.greater_equal(values, largest, out=self.room("mask", bool, self.size))
        if self.odd is not None:
            mask &= ~self.odd
        place = int(mask.argmax())
        return slice(place, place + 1)

    def places(self, values: np.ndarray, bound: float, few: bool = False) -> Any:
        """Where the exact value can be ``bound`` or more: indices, or a slice for the whole block.

        Args:
            few: None in place of indices where they are more than a few.
        """
        return self._indices(self._reaching(values, bound), few)

    def places_but_exact(self, values: np.ndarray, bound: float, known: float) -> Any:
        """The same without those of which the gap is exact and not over ``known``."""
        mask = self._reaching(values, bound)
        other = np.greater(self.gaps(), known, out=self.room("over", bool, self.size))
        mask &= np.logical_or(other, self._inexact(), out=other)
        return self._indices(mask)

    def is_exact(self, at: slice) -> bool:
        """Whether the gap of one element is exact."""
        return self.gap_is_exact or bool(self.relatives()[at][0] < INEXACT)

    def _inexact(self) -> np.ndarray:
        mask: np.ndarray = self.room("inexact", bool, self.size)
        least = math.inf if self.gap_is_exact else INEXACT
        np.greater_equal(self.relatives(), least, out=mask)
        return mask

    def _reaching(self, values: np.ndarray, bound: float) -> np.ndarray:
        least = bound * (1 - self.eps) - self.tiny
        mask = self.room("mask", bool, self.size)
        np.greater_equal(values, least, out=mask)
        if not least > 0:  # 0 / 0 is NaN
            mask[:] = True
            if self.odd is not None:
                np.logical_not(self.odd, out=mask)
        return mask

    def _indices(self, mask: np.ndarray, few: bool = False) -> Any:
        count = int(np.count_nonzero(mask))
        if few and count > self.size >> 4:
            return None
        # many are dearer to gather than the others are to compute as well
        whole = self.odd is None and count > self.size >> 3
        return slice(None) if whole else np.flatnonzero(mask)

    def over(self, values: np.ndarray, bound: float) -> tuple[int, np.ndarray]:
        """How many shares are surely over a bound, and the places where it takes exact means."""
        surely = self.room("over", bool, self.size)
        np.greater(values, (bound + self.tiny) / (1 - self.eps - self.slack), out=surely)
        sure = int(np.count_nonzero(surely))
        maybe = self._reaching(values, bound)
        if sure == int(np.count_nonzero(maybe)):
            return sure, np.empty(0, np.intp)
        np.logical_not(surely, out=surely)
        return sure, np.flatnonzero(np.logical_and(maybe, surely, out=maybe))
