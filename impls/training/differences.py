"""How far arrays of two sides are apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Pair = tuple["np.ndarray | None", "np.ndarray | None"]
Error = tuple[float, int]
"""The largest difference, relative to the largest magnitude (at least 1); how many values."""


def error_of(ours: np.ndarray | None, theirs: np.ndarray | None) -> Error:
    """The error of one pair.

    Infinite where one side lacks the array, has another shape, or is not finite where the other is.
    """
    if ours is None or theirs is None or ours.shape != theirs.shape:
        return float("inf"), 0
    if ours.dtype.kind in "biu":
        return (0.0 if np.array_equal(ours, theirs) else float("inf")), ours.size
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    if a.size == 0:
        return 0.0, 0
    if not np.isfinite(a).all() or not np.isfinite(b).all():
        return (0.0 if np.array_equal(a, b, equal_nan=True) else float("inf")), a.size
    return float(np.abs(a - b).max() / max(1.0, np.abs(a).max())), a.size


def errors_of(pairs: Sequence[Pair]) -> list[Error]:
    """:func:`error_of` for each pair.

    An update has some hundred small arrays, and NumPy takes longer to begin with one than to go
    through it: those that are alike in kind are put end to end and gone through together.
    """
    found: list[Error | None] = [None] * len(pairs)
    together = [i for i, pair in enumerate(pairs) if _plain(*pair)]
    if together:
        ours, theirs = (
            np.concatenate([pairs[i][side].reshape(-1) for i in together], dtype=np.float64)  # type: ignore[union-attr]
            for side in (0, 1)
        )
        if np.isfinite(ours).all() and np.isfinite(theirs).all():
            sizes = [pairs[i][0].size for i in together]  # type: ignore[union-attr]
            starts = np.cumsum([0, *sizes[:-1]])
            gaps = np.maximum.reduceat(np.abs(ours - theirs), starts)
            sizes_of_values = np.maximum(1.0, np.maximum.reduceat(np.abs(ours), starts))
            for i, error, size in zip(
                together, (gaps / sizes_of_values).tolist(), sizes, strict=True
            ):
                found[i] = (error, size)
    return [
        error_of(*pair) if error is None else error
        for pair, error in zip(pairs, found, strict=True)
    ]


def _plain(ours: np.ndarray | None, theirs: np.ndarray | None) -> bool:
    """Whether nothing but numbers can differ."""
    return (
        ours is not None
        and theirs is not None
        and ours.shape == theirs.shape
        and ours.size > 0
        and ours.dtype.kind == theirs.dtype.kind == "f"
    )
