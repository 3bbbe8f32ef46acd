"""What a pass over two arrays has found, and how one block adds to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity.scan_exact import (
    Workspace,
    differing,
    exactly,
    gaps,
    relatives,
    shares,
    whole_numbers,
)
from parity.scan_quick import Bounds, precision

ROOMS = 4
"""Workspaces kept for the next pass: touching new memory takes longer than computing in it."""
_ROOMS: list[Workspace] = []


@dataclass
class Extremes:
    """What a pass has found so far.

    Attributes:
        over: elements whose share is over ``atol``; non-finite ones are counted apart.
        needed: largest share, ``|a - b| / max(1, scale)``, first reached at ``worst``.
        bad: the first element that is non-finite on one side only.
        values: both values, and the reference's, at ``worst`` and at ``bad``.
    """

    over: int = 0
    non_finite: int = 0
    max_abs: float = 0.0
    max_rel: float = 0.0
    max_ulp: float = 0.0
    needed: float = 0.0
    worst: int = 0
    bad: int | None = None
    values: dict[str, tuple[Any, Any, Any]] = field(default_factory=dict)
    zero: bool = True
    finite: bool = False

    def merge(self, later: Extremes) -> None:
        """Add what was found further on in the same arrays."""
        if later.needed > self.needed:
            self.needed, self.worst = later.needed, later.worst
            self.values["worst"] = later.values["worst"]
        if self.bad is None and later.bad is not None:
            self.bad, self.values["bad"] = later.bad, later.values["bad"]
        self.over += later.over
        self.non_finite += later.non_finite
        self.max_abs = max(self.max_abs, later.max_abs)
        self.max_rel = max(self.max_rel, later.max_rel)
        self.max_ulp = max(self.max_ulp, later.max_ulp)
        self.zero &= later.zero
        self.finite |= later.finite


@dataclass
class Block:
    """Pieces of the arrays, from index ``start`` on."""

    start: int
    a: np.ndarray
    b: np.ndarray
    reference: np.ndarray | None

    def take(self, at: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The values at some places: indices, or a slice."""
        known = None if self.reference is None else self.reference[at]
        return self.a[at], self.b[at], known

    def values(self, place: int) -> tuple[Any, Any, Any]:
        """Python numbers: the magnitude of the smallest int64 does not fit an int64."""
        known = None if self.reference is None else self.reference[place].item()
        return self.a[place].item(), self.b[place].item(), known


class Pass:
    """One thread's share of the work."""

    def __init__(self, atol: float) -> None:
        self.atol = atol
        self.found = Extremes()
        try:
            self.room = _ROOMS.pop()
        except IndexError:  # not asked before: another thread may take the last one in between
            self.room = Workspace()

    def run(self, blocks: Iterator[tuple[int, list[np.ndarray]]]) -> Extremes:
        """Compare blocks, which come in order."""
        with np.errstate(all="ignore"):
            for start, (a, b, *rest) in blocks:
                self._block(Block(start, a, b, rest[0] if rest else None))
        if len(_ROOMS) < ROOMS:
            _ROOMS.append(self.room)
        return self.found

    def _block(self, block: Block) -> None:
        found, a, b = self.found, block.a, block.b
        if not found.values:
            found.values["worst"] = block.values(0)
        if found.zero and (a.any() or b.any()):
            found.zero = False
        if not found.finite and (a.dtype.kind not in "fc" or np.isfinite(a).any()):
            found.finite = True
        dtype = precision(a.dtype, b.dtype)
        if a.dtype.kind in "biu" and a.dtype == b.dtype:
            self._integers(block)
        elif dtype is None or not _is_real(block.reference):
            self._exact(block, differing(a, b))
        elif a.dtype == b.dtype:
            self._quick(block, dtype, ulp=a.dtype.kind == "f")
        else:  # float32 beside its float64 reference
            a, b = self.room.widened("a", a, dtype), self.room.widened("b", b, dtype)
            self._quick(Block(block.start, a, b, block.reference), dtype, ulp=False)

    def _integers(self, block: Block) -> None:
        """Integers or flags of one dtype: a few that differ are gathered, of many all are taken."""
        found, size = self.found, block.a.size
        mask = np.not_equal(block.a, block.b, out=self.room("mask", bool, size))
        if np.count_nonzero(mask) <= size >> 3 or block.reference is not None:
            self._exact(block, np.flatnonzero(mask))
            return
        gap, magnitude = whole_numbers(block.a, block.b, self.room)
        found.max_abs = max(found.max_abs, _largest(gap))
        share = np.divide(gap, magnitude, out=self.room("share", np.float64, size))
        found.max_rel = max(found.max_rel, _largest(share))
        np.divide(gap, np.maximum(magnitude, 1.0, out=magnitude), out=share)
        found.over += int(np.count_nonzero(np.greater(share, self.atol, out=mask)))
        first = int(np.argmax(share))
        self._worst(block, float(share[first]), first)

    def _quick(self, block: Block, dtype: np.dtype[Any], ulp: bool) -> None:
        found, bounds = self.found, Bounds(block.a, block.b, self.room, ulp)
        if bounds.identical:
            return
        bounds.measure(dtype)
        self._odd(block, bounds)
        if bounds.odd is not None and bounds.odd.all():
            return
        if block.reference is not None and not bounds.scale_by(block.reference):
            rest = differing(block.a, block.b)
            if bounds.odd is not None:
                rest = rest[~bounds.odd[rest]]
            self._exact(block, rest, ulp)
            return
        if ulp:
            found.max_ulp = max(found.max_ulp, bounds.max_ulp(found.max_ulp))
        self._gap(block, bounds)
        self._relative(block, bounds)
        self._over(block, bounds)
        self._needed(block, bounds)

    def _gap(self, block: Block, bounds: Bounds) -> None:
        found = self.found
        if bounds.gap_is_exact:
            found.max_abs = max(found.max_abs, bounds.max_gap)
        elif bounds.most(bounds.max_gap) > found.max_abs:
            values = bounds.gaps()
            peak = bounds.first(values, bounds.max_gap)
            known = max(found.max_abs, float(gaps(block.a[peak], block.b[peak], self.room)[0]))
            if bounds.is_exact(peak):
                at = bounds.places_but_exact(values, known, known)
            else:
                at = bounds.places(values, known)
            found.max_abs = max(known, _largest(gaps(block.a[at], block.b[at], self.room)))

    def _relative(self, block: Block, bounds: Bounds) -> None:
        found = self.found
        if found.max_rel >= bounds.relative_limit:
            return
        if bounds.most(bounds.max_relative) > found.max_rel:
            values = bounds.relatives()
            peak = bounds.first(values, bounds.max_relative)
            known = max(found.max_rel, _largest(relatives(block.a[peak], block.b[peak], self.room)))
            at = bounds.places(values, known)
            found.max_rel = max(known, _largest(relatives(block.a[at], block.b[at], self.room)))

    def _over(self, block: Block, bounds: Bounds) -> None:
        found, atol = self.found, self.atol
        if not bounds.most(bounds.max_share) > atol:
            return
        if atol == 0 and (block.reference is None or bounds.dtype == np.float32):
            found.over += int(np.count_nonzero(bounds.gaps() != 0))
            return
        at = None
        if block.reference is None:  # a share is at most the relative gap
            at = bounds.places(bounds.relatives(), atol, few=True)
        if at is None:
            sure, at = bounds.over(bounds.shares(), atol)
            found.over += sure
        if at.size:
            found.over += int(np.count_nonzero(shares(*block.take(at), self.room) > atol))

    def _needed(self, block: Block, bounds: Bounds) -> None:
        found, at = self.found, None
        if block.reference is None:
            gap = bounds.max_gap if bounds.gap_is_exact else bounds.most(bounds.max_gap)
            if not (gap > found.needed and bounds.most(bounds.max_relative) > found.needed):
                return
            at = bounds.places(bounds.relatives(), found.needed, few=True)
        if at is None:
            values = bounds.shares()
            if not bounds.most(bounds.max_share) > found.needed:
                return
            peak = bounds.first(values, bounds.max_share)
            known = max(found.needed, float(shares(*block.take(peak), self.room)[0]))
            if block.reference is None:  # a share is at most the gap
                at = bounds.places_but_exact(values, known, found.needed)
            else:
                at = bounds.places(values, known)
        share = shares(*block.take(at), self.room)
        if share.size:
            first = int(np.argmax(share))
            place = first if isinstance(at, slice) else int(at[first])
            self._worst(block, float(share[first]), place)

    def _worst(self, block: Block, share: float, place: int) -> None:
        found, index = self.found, block.start + place
        # of equal shares the first counts; within a block they are not met in order
        if share > found.needed or (share == found.needed > 0 and index < found.worst):
            found.needed, found.worst = share, index
            found.values["worst"] = block.values(place)

    def _odd(self, block: Block, bounds: Bounds) -> None:
        """Places without a finite gap: few by the definition, many by masks."""
        found, odd = self.found, bounds.odd
        if odd is None:
            return
        if np.count_nonzero(odd) > odd.size >> 4:
            a, b = bounds.a, bounds.b
            finite = np.isfinite(a) & np.isfinite(b)
            bad = odd & ~finite & (a != b) & ~((a != a) & (b != b))
            found.non_finite += int(np.count_nonzero(bad))
            if found.bad is None and bad.any():
                self._bad(block, int(bad.argmax()))
            odd = odd & finite  # gaps that overflow
        self._exact(block, np.flatnonzero(odd), bounds.ulp)

    def _bad(self, block: Block, place: int) -> None:
        if self.found.bad is None:
            self.found.bad = block.start + place
            self.found.values["bad"] = block.values(place)

    def _exact(self, block: Block, places: np.ndarray, ulp: bool = True) -> None:
        """The definition, at some places; elsewhere the two are equal."""
        if not places.size:
            return
        found = self.found
        whole = places.size == block.a.size
        exact = exactly(*block.take(slice(None) if whole else places), ulp=ulp)
        bad = int(np.count_nonzero(exact.bad))
        if bad:
            found.non_finite += bad
            self._bad(block, int(places[exact.bad.argmax()]))
        found.over += int(np.count_nonzero(exact.share > self.atol))
        found.max_abs = max(found.max_abs, float(exact.gap.max()))
        found.max_rel = max(found.max_rel, exact.max_relative())
        found.max_ulp = max(found.max_ulp, float(exact.ulp.max()))
        first = int(np.argmax(exact.share))
        self._worst(block, float(exact.share[first]), int(places[first]))


def _is_real(reference: np.ndarray | None) -> bool:
    return reference is None or precision(reference.dtype, reference.dtype) is not None


def _largest(values: np.ndarray) -> float:
    return float(np.fmax.reduce(values, initial=0.0))
