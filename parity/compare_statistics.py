"""An entry of which a side keeps statistics only: what can be compared, and what that proves.

Equal checksums prove equal bits. Otherwise, if every element were within its bound, no statistic
could be off by more than follows from that; so one that is proves a difference. Samples are
compared like values. If nothing is off, nothing is proved: the elements count as ``unproved``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from parity.scan import scan
from parity.trace.statistics import Statistics, describe

ROUNDING = 1e-12
"""Relative error that summing in float64, in two orders, may leave in a statistic."""


def compare_statistics(left: Any, right: Any, atol: float, reference: Any) -> dict[str, Any]:
    """The fields of a difference beyond names, shapes and dtypes, which are equal here.

    Args:
        left, right: statistics, or on one side values: arrays or entries of a file.
        reference: sets the scale: values or statistics of the same shape, or None.
    """
    a, b = (x if isinstance(x, Statistics) else describe(x) for x in (left, right))
    if a.size == 0:
        return {"problem": None, "zero": True}
    flags = {
        "zero": a.zero == a.size and b.zero == b.size,
        "finite": a.min is not None or b.min is not None,
    }
    if a.dtype == b.dtype and a.sha256 == b.sha256:
        return {"problem": None, "size": a.size, "worst": (0,) * len(a.shape), **flags}
    known = None
    if reference is not None and tuple(np.shape(reference)) == a.shape:
        known = reference if isinstance(reference, Statistics) else describe(reference)
    found = _samples(a, b, atol, known) | flags
    if (a.nan, a.inf) != (b.nan, b.inf):
        gap = abs(a.nan - b.nan) + abs(a.inf - b.inf)
        kind = "nan" if a.nan != b.nan else "inf"
        counts = float(getattr(a, kind)), float(getattr(b, kind))
        shown: dict[str, Any] = {"statistic": kind, "values": counts, "worst": None}
        return {**found, "problem": "non-finite", "over": max(found["over"], gap), **shown}
    if found["problem"] is not None:
        return found
    scale = max([1.0, *(_magnitude(s) for s in ((a, b) if known is None else (known,)))])
    if (which := _apart(a, b, atol * scale)) is not None:
        one, other = float(getattr(a, which)), float(getattr(b, which))
        error = _error(
            abs(one - other) / (math.sqrt(a.size) if which == "norm" else 1), scale, atol
        )
        shown = {"statistic": which, "values": (one, other), "worst": None}
        return {**found, "problem": "values", "over": 1, **error, **shown}
    if a.dtype == b.dtype and a.dtype.kind in "biu" and atol == 0:
        shown = {"statistic": "sha256", "values": None, "worst": None}
        return {**found, "problem": "values", "over": 1, **shown, "headroom": math.inf}
    return {**found, "unproved": a.size - found["size"]}


def _error(gap: float, scale: float, atol: float) -> dict[str, float]:
    """Figures of a statistic that is ``gap`` apart: some element is off by at least as much."""
    needed = gap / scale
    headroom = needed / atol if atol else math.inf
    return {"max_abs": gap, "needed": needed, "allowed": atol * scale, "headroom": headroom}


def _samples(a: Statistics, b: Statistics, atol: float, known: Statistics | None) -> dict[str, Any]:
    """The kept values, compared as values are."""
    from parity.compare import figures
    from parity.tolerance import Tolerance

    places = [place for place, _ in a.samples]
    one, other = (np.array([v for _, v in s.samples]).astype(s.dtype) for s in (a, b))
    scale = None if known is None else np.array([v for _, v in known.samples]).astype(known.dtype)
    found = figures(scan(one, other, atol, scale), one, Tolerance(atol, "of the entry"))
    (row,) = found["worst"]
    found["worst"] = tuple(int(i) for i in np.unravel_index(places[row], a.shape))
    return found


def _apart(a: Statistics, b: Statistics, bound: float) -> str | None:
    """The first statistic that is off by more than elements within ``bound`` can make it."""
    if a.min is None or b.min is None:
        return None
    for name, factor in {
        "min": 1,
        "max": 1,
        "mean": 1,
        "std": 1,
        "norm": math.sqrt(a.size),
    }.items():
        one, other = getattr(a, name), getattr(b, name)
        if one is None or other is None:
            continue
        own = 0.0 if name in ("min", "max") else ROUNDING * max(_magnitude(a), _magnitude(b))
        if not abs(float(one) - float(other)) <= (bound + own) * factor:
            if math.isfinite(one) and math.isfinite(other):
                return name
    return None


def _magnitude(s: Statistics) -> float:
    """The largest finite magnitude."""
    return 0.0 if s.min is None or s.max is None else max(abs(float(s.min)), abs(float(s.max)))
