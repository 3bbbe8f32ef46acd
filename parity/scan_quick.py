"""Bounds of one block in its own precision: what cannot change a result need not be exact.

For each element the computed gap, relative gap and share are within a few roundings of the exact
ones. ``ROUNDINGS`` bounds those, so an element can change a maximum only if its computed value is
at least that maximum less the roundings.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.scan_exact import steps_apart

QUICK = (np.dtype("float32"), np.dtype("float64"))
_BITS = {np.dtype("float32"): 23, np.dtype("float64"): 52}
_CLOSE = 13
"""Two numbers of one sign are close where at most 2**-13 of a doubling apart, in steps."""
ROUNDINGS = 4.0
"""Units in the last place by which a computed bound may be off: three operations of half a unit,
and the rounding of a reference."""


class Workspace:
    """Arrays of one block, used again for every block."""

    def __init__(self, dtype: np.dtype[Any], size: int) -> None:
        self.dtype = dtype
        self.gap, self.relative, self.share = (np.empty(size, dtype) for _ in range(3))
        self.steps = np.empty(size, f"i{dtype.itemsize}")


class Bounds:
    """A block of two arrays of one dtype, float32 or float64.

    Attributes:
        identical: bit for bit.
        odd: places where a value is not finite, or the gap overflows; they count as equal below.
    """

    def __init__(self, a: np.ndarray, b: np.ndarray, room: Workspace) -> None:
        self.a, self.b, self.room = a, b, room
        self.bits = _BITS[a.dtype]
        self.eps = ROUNDINGS * 2.0**-self.bits
        self.odd: np.ndarray = np.empty(0, np.intp)
        self.share: np.ndarray | None = None
        signed = f"i{a.itemsize}"
        steps = np.subtract(a.view(signed), b.view(signed), out=room.steps[: a.size])
        np.abs(steps, out=steps)
        self._count_steps(steps)
        self.identical = self.steps == 0
        if self.identical:
            return
        self.gap = np.subtract(a, b, out=room.gap[: a.size])
        np.abs(self.gap, out=self.gap)
        self.max_gap = float(self.gap.max())
        if not np.isfinite(self.max_gap):  # a value is NaN or infinite, or the gap overflows
            self.odd = np.flatnonzero(~np.isfinite(self.gap))
            self.gap[self.odd] = steps[self.odd] = 0
            self.max_gap = float(self.gap.max())
            self._count_steps(steps)

    def _count_steps(self, steps: np.ndarray) -> None:
        # the magnitude of the smallest integer is itself, and right as an unsigned one
        self.steps = int(steps.view(f"u{steps.itemsize}").max())
        # Numbers of opposite signs are at least 2**bits + 1 apart here, however near zero.
        self.one_sign = self.steps <= 1 << self.bits
        self.close = self.steps <= 1 << (self.bits - _CLOSE)
        self.slack = self.eps + (self.steps * 2.0**-self.bits if self.close else 0.0)

    @property
    def gap_is_exact(self) -> bool:
        """The difference of two numbers within a factor of two has no rounding."""
        return self.close or self.a.dtype == np.float64  # by definition, for float64

    def max_ulp(self) -> float:
        """Exact: largest distance in representable numbers."""
        if self.one_sign:
            return float(self.steps)
        steps = steps_apart(self.a, self.b)
        steps[self.odd] = 0
        return float(steps.max())

    def scale_by(self, reference: Any) -> bool:
        """Compute relative gaps, and set what scales a share; False where it takes exact means."""
        size = self.a.size
        magnitude = np.abs(self.a, out=self.room.share[:size])
        if not self.close:
            other = np.abs(self.b, out=self.room.relative[:size])
            np.maximum(magnitude, other, out=magnitude)
        # 0 / 0 is NaN, which no comparison below takes for large
        self.relative = np.divide(self.gap, magnitude, out=self.room.relative[:size])
        self.max_relative = float(np.fmax.reduce(self.relative))
        self.reference = None
        if reference is None:
            self.max_share = min(self.max_gap, self.max_relative)
            return True
        scale = np.abs(reference.astype(self.a.dtype))
        np.maximum(scale, 1, out=scale)
        self.share = np.divide(self.gap, scale, out=self.room.share[:size])
        self.max_share = float(self.share.max())
        return bool(np.isfinite(scale.max()))  # NaN or infinity sets no scale

    def _shares(self) -> np.ndarray:
        """``gap / max(1, magnitude)`` is the smaller of gap and relative gap."""
        if self.share is None:
            self.share = np.fmin(self.gap, self.relative, out=self.room.share[: self.a.size])
            self.max_share = float(self.share.max())
        return self.share

    def may_exceed(self, what: str, known: float) -> np.ndarray | None:
        """Places that can have a larger gap, relative gap or share than is known; None for none."""
        largest = getattr(self, f"max_{what}")
        if not largest * (1 + self.eps) > known:
            return None
        if what == "share":
            values, largest = self._shares(), self.max_share
            if not largest * (1 + self.eps) > known:
                return None
        else:
            values = getattr(self, what)
        least = largest * (1 - self.eps - self.slack) if np.isfinite(largest) else known
        return np.flatnonzero(values >= max(least, known * (1 - self.eps)))

    def over(self, atol: float) -> tuple[int, np.ndarray | None]:
        """How many shares are surely over ``atol``, and the places where it takes exact means."""
        if not self.max_share * (1 + self.eps) > atol:
            return 0, None
        if atol == 0:
            return int(np.count_nonzero(self.gap)), None
        shares = self._shares()
        if not self.max_share * (1 + self.eps) > atol:
            return 0, None
        surely = shares > atol * (1 + self.eps + self.slack)
        maybe = shares >= atol * (1 - self.eps)
        sure = int(np.count_nonzero(surely))
        if sure == int(np.count_nonzero(maybe)):
            return sure, None
        return sure, np.flatnonzero(maybe & ~surely)
