"""The definition of every figure, element by element, in float64 (integers: exactly)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Exact:
    """Of each element: ``|a - b|``, the larger magnitude, the share of the bound, the distance.

    ``gap``, ``share`` and ``ulp`` are 0 where a value is not finite; ``bad`` says where it is so on
    one side only, or where two infinities have opposite signs.
    """

    gap: np.ndarray
    magnitude: np.ndarray
    share: np.ndarray
    ulp: np.ndarray
    bad: np.ndarray

    def max_relative(self) -> float:
        """Largest gap relative to the larger magnitude."""
        relative = self.gap / np.where(self.magnitude, self.magnitude, 1)
        return float(np.nanmax(relative))


def differing(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Indices at which two arrays may differ: where their bits do, or NaN is about."""
    if a.dtype.kind not in "biufc" and a.dtype == b.dtype:  # bfloat16
        a, b = a.view(np.uint16), b.view(np.uint16)
    elif a.dtype == b.dtype and a.dtype.kind == "f" and a.itemsize in (2, 4, 8):
        a, b = a.view(f"u{a.itemsize}"), b.view(f"u{b.itemsize}")
    return np.flatnonzero(a != b)


def exactly(a: np.ndarray, b: np.ndarray, reference: Any, *, ulp: bool = True) -> Exact:
    """Compare two one-dimensional arrays by the definition.

    Args:
        reference: values that set the scale of an element; where it is not finite, and without
            one, the larger magnitude does.
        ulp: False where the arrays were widened, so that steps of their dtype say nothing.
    """
    if a.dtype.kind in "biu":
        a, b = a.astype(object), b.astype(object)  # uint64 - int64 is exact in Python integers
        gap = np.abs(a - b).astype(np.float64)
        magnitude = np.maximum(abs(a), abs(b)).astype(np.float64)
        none = np.zeros(gap.shape)
        return Exact(gap, magnitude, _share(gap, magnitude, reference), none, none.astype(bool))
    steps = steps_apart(a, b) if ulp else np.zeros(a.shape)
    if "c" not in (a.dtype.kind, b.dtype.kind):  # a reference may be complex alone
        a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        alike = (np.isnan(a) & np.isnan(b)) | (a == b)
        gap = np.where(finite, np.abs(a - b), 0.0)
        magnitude = np.where(finite, np.maximum(np.abs(a), np.abs(b)), 1.0)
        share = _share(gap, magnitude, reference)
    return Exact(gap, magnitude, share, np.where(finite, steps, 0), ~finite & ~alike)


def _share(gap: np.ndarray, magnitude: np.ndarray, reference: Any) -> np.ndarray:
    scale = magnitude
    if reference is not None:
        known = np.abs(reference).astype(np.float64)
        scale = np.where(np.isfinite(known), known, magnitude)
    share: np.ndarray = gap / np.maximum(scale, 1.0)
    return share


def steps_apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distance in representable numbers; 0 where the dtypes differ or are complex."""
    if a.dtype != b.dtype or a.dtype.kind != "f" or a.dtype.itemsize not in (2, 4, 8):
        return np.zeros(a.shape)
    one, other = _ordered(a), _ordered(b)
    gap = np.maximum(one, other) - np.minimum(one, other)
    # it may not fit the signed dtype
    steps: np.ndarray = gap.view(f"u{a.itemsize}").astype(np.float64)
    return steps


def _ordered(a: np.ndarray) -> np.ndarray:
    """Map floats to integers that keep their order (both zeros meet)."""
    bits = a.view(f"i{a.itemsize}")
    sign = bits >> (8 * a.itemsize - 1)  # -1 or 0
    ordered: np.ndarray = ((bits & np.iinfo(bits.dtype).max) ^ sign) - sign
    return ordered
