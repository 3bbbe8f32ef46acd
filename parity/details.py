"""What a page shows of one entry beyond its errors: histograms, and the worst places.

Arrays are gone once a report stands, so details are taken while it is built, and only where someone
asked for them: they cost a second look at the values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

BINS = 24
WORST = 8
"""Places listed of each entry."""
SAMPLE = 1 << 16
"""Values that a histogram looks at; larger entries are taken at equal steps, and the page says so.
"""

_WANTED: ContextVar[bool] = ContextVar("details", default=False)


@contextmanager
def collecting(on: bool = True) -> Iterator[None]:
    """Reports that are built inside carry details, if ``on``."""
    token = _WANTED.set(on)
    try:
        yield
    finally:
        _WANTED.reset(token)


def wanted() -> bool:
    """Whether reports that are built now carry details."""
    return _WANTED.get()


def detail(arrays: Mapping[str, Any], sides: tuple[str, str]) -> dict[str, Any] | None:
    """Histograms of two sides and of their difference, and the places furthest apart.

    Args:
        arrays: side -> array or None; the two sides, and ``reference`` where there is one.
        sides: the two that are compared.

    Returns:
        ``edges`` and ``counts`` of both sides on common bins, ``difference`` (``edges``,
        ``counts``; of left minus right), ``sampled`` of ``size`` values, and ``worst``, rows of
        ``index``, both values and the reference's. None where there are no two arrays of numbers
        of one shape.
    """
    left, right = (arrays.get(side) for side in sides)
    if left is None or right is None or np.shape(left) != np.shape(right):
        return None
    a, b = np.asarray(left), np.asarray(right)
    if a.size == 0 or not all(x.dtype.kind in "biuf" for x in (a, b)):
        return None
    flat = [x.reshape(-1) for x in (a, b)]
    step = -(-a.size // SAMPLE)
    some = [x[::step].astype(np.float64) for x in flat]
    finite = np.isfinite(some[0]) & np.isfinite(some[1])
    seen = [x[finite] for x in some]
    found: dict[str, Any] = {
        "size": int(a.size),
        "sampled": int(some[0].size),
        "finite": int(finite.sum()),
        "worst": _worst(flat, a.shape, arrays.get("reference")),
    }
    if finite.any():
        edges = _edges(np.concatenate(seen))
        counts = {
            side: np.histogram(x, edges)[0].tolist() for side, x in zip(sides, seen, strict=True)
        }
        gap = seen[0] - seen[1]
        apart = _edges(gap)
        found |= {
            "edges": edges.tolist(),
            "counts": counts,
            "difference": {
                "edges": apart.tolist(),
                "counts": np.histogram(gap, apart)[0].tolist(),
            },
        }
    return found


def _edges(values: np.ndarray) -> np.ndarray:
    """Bins over the range of the values; one value gets a range around itself."""
    low, high = float(values.min()), float(values.max())
    room = max(abs(low), abs(high))
    if high - low <= max(1e-12 * room, 1e-300):
        half = max(room, 1.0) * 1e-3 if room else 1.0
        low, high = low - half, high + half
    # in quarters, since the width of a range of floats may be no float
    return np.linspace(low / 4, high / 4, BINS + 1) * 4


def _worst(flat: list[np.ndarray], shape: tuple[int, ...], reference: Any) -> list[dict[str, Any]]:
    """The places furthest apart, worst first; NaN and infinity on one side only lead."""
    a, b = (x.astype(np.float64) for x in flat)
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(a - b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    gap = np.where(same, 0.0, np.where(np.isnan(gap), np.inf, gap))
    count = min(WORST, gap.size)
    top = np.argpartition(gap, gap.size - count)[gap.size - count :]
    top = top[np.argsort(-gap[top], kind="stable")]
    fits = reference is not None and np.shape(reference) == shape
    known = np.asarray(reference).reshape(-1) if fits else None
    return [
        {
            "index": [int(i) for i in np.unravel_index(place, shape)],
            "values": [_number(a[place]), _number(b[place])],
            "gap": _number(gap[place]),
            **({} if known is None else {"reference": _number(known[place])}),
        }
        for place in top
        if gap[place] > 0
    ]


def _number(value: Any) -> float | str:
    """JSON has no infinity and no NaN."""
    number = float(value)
    return number if np.isfinite(number) else str(number)
