"""One blocked pass over two arrays, near the speed of reading them; the results are exact.

The definition is in float64 (:func:`exactly`), and would read and write each element a dozen times
there. So a block is looked at in its own precision first, while it is in the processor's cache:
upper bounds from that decide which elements can change a result, and only these are computed
exactly. A block of equal bits costs one subtraction. Extra memory is a few blocks per thread.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity.copies import contiguous, cores, is_turned, turn
from parity.scan_exact import Exact, differing, exactly
from parity.scan_quick import QUICK, Bounds, Workspace

BLOCK = 1 << 16
"""Elements; five arrays of float32 of this length fit the caches of a core."""
READ = 1 << 18
"""Elements that are read from a file at once."""
THREADED = 1 << 20
"""Elements from which two threads are worth starting."""


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


def scan(left: Any, right: Any, atol: float, reference: Any = None) -> Extremes:
    """Compare two arrays of one shape.

    Args:
        left, right, reference: arrays, or entries of a file that give ``blocks(count)``.
        atol: share over which an element counts as ``over``.
    """
    given = [left, right] if reference is None else [left, right, reference]
    if all(isinstance(array, np.ndarray) for array in given):
        if any(is_turned(array) for array in given):
            return _by_rows(given, atol)
        flat = [_flat(array) for array in given]
        workers = min(cores(), 4) if flat[0].size >= THREADED else 1
        if workers > 1:
            return _in_threads(flat, atol, workers)
        return _Pass(atol).run(_slices(flat, 0, flat[0].size))
    return _Pass(atol).run(_read(given))


class _Pass:
    """One thread's share of the work."""

    def __init__(self, atol: float) -> None:
        self.atol = atol
        self.found = Extremes()
        self.room: Workspace | None = None

    def run(self, blocks: Iterator[tuple[int, list[np.ndarray]]]) -> Extremes:
        with np.errstate(all="ignore"):
            for start, (a, b, *rest) in blocks:
                self._block(start, a, b, rest[0] if rest else None)
        return self.found

    def _block(self, start: int, a: np.ndarray, b: np.ndarray, reference: Any) -> None:
        found = self.found
        if not found.values:
            found.values["worst"] = _at(a, b, reference, 0)
        if found.zero and (a.any() or b.any()):
            found.zero = False
        if not found.finite and (a.dtype.kind not in "fc" or np.isfinite(a).any()):
            found.finite = True
        if a.dtype in QUICK and b.dtype in QUICK and _is_real(reference):
            self._quick(start, a, b, reference)
        else:
            self._exact(start, a, b, reference, differing(a, b))

    def _quick(self, start: int, a: np.ndarray, b: np.ndarray, reference: Any) -> None:
        same = a.dtype == b.dtype
        if not same:  # float32 beside its float64 reference
            a, b = a.astype(np.float64), b.astype(np.float64)
        if self.room is None or self.room.dtype != a.dtype:
            self.room = Workspace(a.dtype, max(BLOCK, a.size))
        bounds = Bounds(a, b, self.room)
        if bounds.identical:
            return
        if bounds.odd.size:
            self._exact(start, a, b, reference, bounds.odd, ulp=same)
        if not bounds.scale_by(reference):
            rest = np.setdiff1d(differing(a, b), bounds.odd, assume_unique=True)
            self._exact(start, a, b, reference, rest, ulp=same)
            return
        found = self.found
        if same:
            found.max_ulp = max(found.max_ulp, bounds.max_ulp())
        if bounds.gap_is_exact:
            found.max_abs = max(found.max_abs, bounds.max_gap)
        elif (at := bounds.may_exceed("gap", found.max_abs)) is not None:
            exact = exactly(a[at], b[at], None)
            found.max_abs = max(found.max_abs, float(exact.gap.max()))
        if (at := bounds.may_exceed("relative", found.max_rel)) is not None:
            exact = exactly(a[at], b[at], None)
            found.max_rel = max(found.max_rel, exact.max_relative())
        sure, at = bounds.over(self.atol)
        found.over += sure
        if at is not None:
            exact = exactly(a[at], b[at], _take(reference, at))
            found.over += int(np.count_nonzero(exact.share > self.atol))
        if (at := bounds.may_exceed("share", found.needed)) is not None:
            exact = exactly(a[at], b[at], _take(reference, at))
            self._worst(start, a, b, reference, exact, at)

    def _exact(
        self,
        start: int,
        a: np.ndarray,
        b: np.ndarray,
        reference: Any,
        places: np.ndarray,
        ulp: bool = True,
    ) -> None:
        """The definition, at some places; elsewhere the two are equal."""
        if not places.size:
            return
        found = self.found
        exact = exactly(a[places], b[places], _take(reference, places), ulp=ulp)
        bad = places[exact.bad]
        found.non_finite += bad.size
        if bad.size and found.bad is None:
            found.bad = start + int(bad[0])
            found.values["bad"] = _at(a, b, reference, int(bad[0]))
        found.over += int(np.count_nonzero(exact.share > self.atol))
        found.max_abs = max(found.max_abs, float(exact.gap.max()))
        found.max_rel = max(found.max_rel, exact.max_relative())
        found.max_ulp = max(found.max_ulp, float(exact.ulp.max()))
        self._worst(start, a, b, reference, exact, places)

    def _worst(
        self,
        start: int,
        a: np.ndarray,
        b: np.ndarray,
        reference: Any,
        exact: Exact,
        places: np.ndarray,
    ) -> None:
        found, first = self.found, int(np.argmax(exact.share))
        share, place = exact.share[first], int(places[first])
        # of equal shares the first counts; within a block they are not met in order
        if share > found.needed or (share == found.needed > 0 and start + place < found.worst):
            found.needed, found.worst = float(share), start + place
            found.values["worst"] = _at(a, b, reference, place)


def _in_threads(flat: list[np.ndarray], atol: float, workers: int) -> Extremes:
    """NumPy lets other threads run while it computes; each takes one piece, in order."""
    return _shared(flat[0].size, BLOCK, workers, atol, functools.partial(_slices, flat))


def _by_rows(given: list[np.ndarray], atol: float) -> Extremes:
    """Matrices of which one is stored by columns: turned a few rows at a time, never whole."""
    rows, columns = given[0].shape
    step = min(256, max(16, (1 << 20) // columns))
    workers = min(cores(), 4, -(-rows // step)) if given[0].size >= THREADED else 1

    def pieces(begin: int, end: int) -> Iterator[tuple[int, list[np.ndarray]]]:
        room = [np.empty((step, columns), a.dtype) if is_turned(a) else None for a in given]
        for top in range(begin, end, step):
            high = min(top + step, end)
            parts = [
                contiguous(a[top:high]) if r is None else turn(a[top:high], r[: high - top])
                for a, r in zip(given, room, strict=True)
            ]
            for start, part in _slices([p.reshape(-1) for p in parts], 0, parts[0].size):
                yield top * columns + start, part

    return _shared(rows, step, workers, atol, pieces)


def _shared(
    size: int,
    step: int,
    workers: int,
    atol: float,
    pieces: Callable[[int, int], Iterator[tuple[int, list[np.ndarray]]]],
) -> Extremes:
    """The whole in as many parts, each of whole steps, as there are workers."""
    edges = [size * i // workers // step * step for i in range(workers)] + [size]
    if workers == 1:
        return _Pass(atol).run(pieces(0, size))
    with ThreadPoolExecutor(workers) as pool:
        parts = [
            pool.submit(_Pass(atol).run, pieces(begin, end))
            for begin, end in zip(edges[:-1], edges[1:], strict=True)
        ]
        found = parts[0].result()
        for piece in parts[1:]:
            found.merge(piece.result())
    return found


def _slices(flat: list[np.ndarray], begin: int, end: int) -> Iterator[tuple[int, list[np.ndarray]]]:
    for start in range(begin, end, BLOCK):
        stop = min(start + BLOCK, end)
        yield start, [array[start:stop] for array in flat]


def _read(given: list[Any]) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Blocks of entries of files; every one is read to its end, where its checksum is verified."""
    from parity.trace.statistics import blocks

    begin = 0
    for pieces in zip(*(blocks(array, READ) for array in given), strict=True):
        for start, part in _slices(list(pieces), 0, pieces[0].size):
            yield begin + start, part
        begin += pieces[0].size


def _flat(array: np.ndarray) -> np.ndarray:
    return contiguous(array).reshape(-1)


def _is_real(reference: Any) -> bool:
    return reference is None or reference.dtype in QUICK


def _take(reference: Any, places: np.ndarray) -> Any:
    return None if reference is None else reference[places]


def _at(a: np.ndarray, b: np.ndarray, reference: Any, place: int) -> tuple[Any, Any, Any]:
    """Python numbers: the magnitude of the smallest int64 does not fit an int64."""
    known = None if reference is None else reference[place].item()
    return a[place].item(), b[place].item(), known
