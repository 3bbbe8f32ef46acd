"""Two arrays, or two traces, to their differences. Pure; a mismatch is data, never an exception.

Attributes come before values (shape, dtype, then the places of NaN and infinity). Values are
compared in blocks (``scan.py``), so that the extra memory stays constant, entries of files are read
piece by piece, and each block is read once from cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.scan import scan
from parity.scan_pass import Extremes
from parity.tolerance import Tolerance
from parity.trace.statistics import Statistics


@dataclass(frozen=True)
class Difference:
    """One pair of arrays, compared.

    Attributes:
        name: the entry's path.
        sides: the names of the two sides, in the order of ``shapes``, ``dtypes`` and ``values``.
        size: number of elements compared; 0 where shapes differ or a side is missing.
        problem: ``None`` (within tolerance), ``values``, ``non-finite``, ``dtype``, ``shape`` or
            ``missing``.
        over: number of elements over tolerance or non-finite on one side only.
        max_abs, max_rel, max_ulp: largest absolute, relative (to the larger magnitude) and
            unit-in-the-last-place difference over the finite elements.
        headroom: largest share of the tolerance used; 1 is the limit, infinite where the
            tolerance is 0 and the values differ.
        worst: index of the element with the largest share of its tolerance.
        values: both values there; ``allowed`` is the tolerance of that element.
        needed: the smallest ``atol`` that would have passed.
        zero: every compared value of both sides is zero.
        finite: some element is finite; without one, agreement says nothing.
        unproved: elements of which a side keeps only statistics that are not those of equal bits:
            nothing shows that they differ, and nothing that they do not.
        statistic: the statistic (``max``, ``norm``, ...) in which the two sides are too far apart,
            where no values show it; ``values`` holds both.
    """

    name: str
    sides: tuple[str, str]
    shapes: tuple[tuple[int, ...] | None, tuple[int, ...] | None]
    dtypes: tuple[str | None, str | None]
    problem: str | None
    size: int = 0
    over: int = 0
    max_abs: float = 0.0
    max_rel: float = 0.0
    max_ulp: float = 0.0
    headroom: float = 0.0
    worst: tuple[int, ...] | None = None
    values: tuple[float, float] | None = None
    allowed: float = 0.0
    needed: float = 0.0
    zero: bool = False
    finite: bool = True
    unproved: int = 0
    statistic: str | None = None

    @property
    def agrees(self) -> bool:
        return self.problem is None

    @property
    def structural(self) -> bool:
        """True where there are no two values to subtract, or one of them is not finite."""
        return self.problem in ("shape", "dtype", "missing", "non-finite")

    @property
    def excusable(self) -> bool:
        """True where rounding could explain it: an index or a flag is right or wrong."""
        exact = any(np.dtype(dtype).kind in "biu" for dtype in self.dtypes if dtype is not None)
        return not self.structural and not (exact and self.problem == "values")


def compare_arrays(
    left: Any,
    right: Any,
    *,
    name: str = "value",
    sides: tuple[str, str] = ("torch", "tf"),
    tolerance: Tolerance,
    reference: Any = None,
    check_dtype: bool = True,
) -> Difference:
    """Compare two arrays element by element.

    Args:
        left, right: arrays, entries of trace files, or None for an entry that a side lacks.
        tolerance: the bound; an element passes at ``atol * max(1, |reference|)``.
        reference: float64 values that set the scale; without them, the larger magnitude does.
        check_dtype: False where one side is the float64 oracle.
    """
    shapes = tuple(None if x is None else tuple(np.shape(x)) for x in (left, right))
    dtypes = tuple(None if x is None else str(x.dtype) for x in (left, right))
    base: dict[str, Any] = {"name": name, "sides": sides, "shapes": shapes, "dtypes": dtypes}
    if left is None or right is None:
        return Difference(**base, problem="missing")
    if shapes[0] != shapes[1]:
        return Difference(**base, problem="shape")
    if (check_dtype and dtypes[0] != dtypes[1]) or (
        (left.dtype.kind in "biu") != (right.dtype.kind in "biu")
    ):
        return Difference(**base, problem="dtype")
    if isinstance(left, Statistics) or isinstance(right, Statistics):
        from parity.compare_statistics import compare_statistics

        return Difference(**base, **compare_statistics(left, right, tolerance.atol, reference))
    if isinstance(reference, Statistics) or np.shape(reference) != shapes[0]:
        reference = None
    return Difference(
        **base, **figures(scan(left, right, tolerance.atol, reference), left, tolerance)
    )


def figures(found: Extremes, array: Any, tolerance: Tolerance) -> dict[str, Any]:
    """The fields of a :class:`Difference` that come from a pass over the values of ``array``."""
    size, atol = int(array.size), tolerance.atol
    if size == 0:
        return {"problem": None, "zero": True}
    worst = found.worst if found.bad is None else found.bad
    a, b, known = found.values["worst" if found.bad is None else "bad"]
    known = np.nan if known is None else known
    scale = abs(known) if np.isfinite(known) else max(abs(a), abs(b))
    scale = float(scale) if np.isfinite(scale) else 1.0
    headroom = found.needed / atol if atol else (np.inf if found.needed else 0.0)
    return {
        "problem": "non-finite" if found.non_finite else "values" if found.over else None,
        "size": size,
        "over": found.over + found.non_finite,
        "max_abs": found.max_abs,
        "max_rel": found.max_rel,
        "max_ulp": found.max_ulp,
        "headroom": float(headroom),
        "worst": tuple(int(i) for i in np.unravel_index(worst, array.shape)),
        "values": (_number(a), _number(b)),
        "allowed": atol * max(1.0, scale),
        "needed": found.needed,
        "zero": found.zero,
        "finite": found.finite,
    }


def _number(value: Any) -> float:
    return float(abs(value)) if np.iscomplexobj(value) else float(value)
