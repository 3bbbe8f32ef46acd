"""Two arrays, or two traces, to their differences. Pure; a mismatch is data, never an exception.

Attributes come before values (shape, dtype, then the places of NaN and infinity), and values are
compared in blocks, so that the extra memory stays constant and each block is read once from cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.tolerance import Tolerance

BLOCK = 1 << 16


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
        left, right: arrays, or None for an entry that a side lacks.
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
    scan = _Scan(left, right, tolerance.atol, reference)
    return Difference(**base, **scan.result())


class _Scan:
    """The blocked pass. Keeps running maxima; the worst element is looked up once, at the end."""

    def __init__(self, left: Any, right: Any, atol: float, reference: Any) -> None:
        self.shape = left.shape
        self.left, self.right = _flat(left), _flat(right)
        same_scale = reference is not None and np.shape(reference) == self.shape
        self.reference = _flat(np.asarray(reference)) if same_scale else None
        self.atol = atol
        self.over = self.non_finite = 0
        self.max_abs = self.max_rel = self.max_ulp = self.needed = 0.0
        self.worst = 0
        self.zero = True
        self.finite = False
        for start in range(0, self.left.size, BLOCK):
            self._block(start)

    def _block(self, start: int) -> None:
        a, b = self.left[start : start + BLOCK], self.right[start : start + BLOCK]
        if self.zero and (a.any() or b.any()):
            self.zero = False
        if not self.finite and (a.dtype.kind not in "fc" or np.isfinite(a).any()):
            self.finite = True
        if a.dtype == b.dtype and a.tobytes() == b.tobytes():
            return
        if a.dtype.kind in "biu":
            a, b = a.astype(object), b.astype(object)  # uint64 - int64 is exact in Python integers
            gap = np.abs(a - b).astype(np.float64)
            self._judge(start, gap, np.maximum(abs(a), abs(b)).astype(np.float64))
            return
        ulp = _ulp(a, b)
        if "c" not in (a.dtype.kind, b.dtype.kind):  # a reference may be complex alone
            a, b = a.astype(np.float64), b.astype(np.float64)
        with np.errstate(all="ignore"):
            finite = np.isfinite(a) & np.isfinite(b)
            gap = np.abs(a - b)
            if not finite.all():
                alike = (np.isnan(a) & np.isnan(b)) | (a == b)
                bad = ~finite & ~alike
                if bad.any() and self.non_finite == 0:
                    self.worst = start + int(np.argmax(bad))
                self.non_finite += int(np.count_nonzero(bad))
                gap = np.where(finite, gap, 0.0)
                ulp = np.where(finite, ulp, 0)
            magnitude = np.maximum(np.abs(a), np.abs(b))
        self.max_ulp = max(self.max_ulp, float(ulp.max()))
        self._judge(start, gap, np.where(finite, magnitude, 1.0))

    def _judge(self, start: int, gap: np.ndarray, magnitude: np.ndarray) -> None:
        scale = magnitude
        if self.reference is not None:
            known = np.abs(self.reference[start : start + gap.size]).astype(np.float64)
            scale = np.where(np.isfinite(known), known, magnitude)
        share = gap / np.maximum(scale, 1.0)
        worst = int(np.argmax(share))
        self.over += int(np.count_nonzero(share > self.atol))
        self.max_abs = max(self.max_abs, float(gap.max()))
        with np.errstate(all="ignore"):
            relative = gap / np.where(magnitude, magnitude, 1)
            self.max_rel = max(self.max_rel, float(np.nanmax(relative)))
        if share[worst] > self.needed:
            self.needed = float(share[worst])
            if not self.non_finite:
                self.worst = start + worst

    def result(self) -> dict[str, Any]:
        size = int(self.left.size)
        if size == 0:
            return {"problem": None, "zero": True}
        index = tuple(int(i) for i in np.unravel_index(self.worst, self.shape))
        # Python numbers: the magnitude of the smallest int64 does not fit an int64
        a, b = self.left[self.worst].item(), self.right[self.worst].item()
        known = self.reference[self.worst].item() if self.reference is not None else np.nan
        scale = abs(known) if np.isfinite(known) else max(abs(a), abs(b))
        scale = float(scale) if np.isfinite(scale) else 1.0
        problem = "non-finite" if self.non_finite else "values" if self.over else None
        headroom = self.needed / self.atol if self.atol else (np.inf if self.needed else 0.0)
        return {
            "problem": problem,
            "size": size,
            "over": self.over + self.non_finite,
            "max_abs": self.max_abs,
            "max_rel": self.max_rel,
            "max_ulp": self.max_ulp,
            "headroom": float(headroom),
            "worst": index,
            "values": (_number(a), _number(b)),
            "allowed": self.atol * max(1.0, scale),
            "needed": self.needed,
            "zero": self.zero,
            "finite": self.finite,
        }


def _flat(array: Any) -> np.ndarray:
    return np.asarray(array).reshape(-1)


def _number(value: Any) -> float:
    return float(abs(value)) if np.iscomplexobj(value) else float(value)


def _ulp(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distance in representable numbers; 0 where the dtypes differ or are complex."""
    if a.dtype != b.dtype or a.dtype.kind != "f" or a.dtype.itemsize not in (2, 4, 8):
        return np.zeros(a.shape)
    ordered = [_ordered(x) for x in (a, b)]
    gap: np.ndarray = np.maximum(*ordered) - np.minimum(*ordered)
    return gap.astype(np.float64)


def _ordered(a: np.ndarray) -> np.ndarray:
    """Map floats to unsigned integers that keep their order (both zeros meet)."""
    bits = a.view(f"u{a.dtype.itemsize}").astype(np.uint64)
    half = np.uint64(1 << (8 * a.dtype.itemsize - 1))
    ordered: np.ndarray = np.where(bits >= half, half - (bits - half), half + bits)
    return ordered
