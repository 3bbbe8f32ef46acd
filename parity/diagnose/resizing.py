"""Resizing by the conventions that frameworks use, to recognise which one a side follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

Grid = Callable[[int, int], np.ndarray]


def _half_pixels(n: int, m: int) -> np.ndarray:
    return (np.arange(m) + 0.5) * n / m - 0.5


def _corners(n: int, m: int) -> np.ndarray:
    return np.arange(m) * ((n - 1) / (m - 1) if m > 1 else 0.0)


def _origin(n: int, m: int) -> np.ndarray:
    return np.arange(m) * (n / m)


_GRIDS: tuple[tuple[str, Grid], ...] = (
    ("half-pixel centres", _half_pixels),
    ("aligned corners", _corners),
    ("aligned origins", _origin),
)


def resampled(x: np.ndarray, sizes: Sequence[int]) -> Iterator[tuple[str, np.ndarray]]:
    """``(convention, resized x)``; spatial axes are those from 2 on."""
    for name, grid in _GRIDS:
        yield f"bilinear, {name}", _each(x, sizes, partial(_linear, grid=grid))
    for name, grid in _GRIDS:
        yield f"nearest, {name}", _each(x, sizes, partial(_nearest, grid=grid))
    yield "nearest, floor", _each(x, sizes, _floor)
    for a in (-0.75, -0.5):
        for name, grid in _GRIDS:
            yield f"bicubic ({a}), {name}", _each(x, sizes, partial(_cubic, grid=grid, a=a))


def _each(
    x: np.ndarray, sizes: Sequence[int], function: Callable[[np.ndarray, int, int], np.ndarray]
) -> np.ndarray:
    for axis, size in enumerate(sizes, 2):
        x = function(x, axis, size)
    return x


def _linear(x: np.ndarray, axis: int, m: int, grid: Grid) -> np.ndarray:
    n = x.shape[axis]
    at = np.clip(grid(n, m), 0, n - 1)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, n - 1)
    share = (at - low).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return np.asarray(np.take(x, low, axis) * (1 - share) + np.take(x, high, axis) * share)


def _nearest(x: np.ndarray, axis: int, m: int, grid: Grid) -> np.ndarray:
    n = x.shape[axis]
    at = np.clip(np.floor(grid(n, m) + 0.5).astype(int), 0, n - 1)
    return np.asarray(np.take(x, at, axis))


def _floor(x: np.ndarray, axis: int, m: int) -> np.ndarray:
    n = x.shape[axis]
    return np.asarray(np.take(x, np.minimum(np.arange(m) * n // m, n - 1), axis))


def _cubic(x: np.ndarray, axis: int, m: int, grid: Grid, a: float) -> np.ndarray:
    n = x.shape[axis]
    at = grid(n, m)
    low = np.floor(at).astype(int)
    made = 0.0
    for offset in range(-1, 3):
        d = np.abs(at - (low + offset))
        near = (a + 2) * d**3 - (a + 3) * d**2 + 1
        far = a * (d**3 - 5 * d**2 + 8 * d - 4)
        weight = np.where(d <= 1, near, np.where(d < 2, far, 0.0))
        taken = np.take(x, np.clip(low + offset, 0, n - 1), axis)
        made = made + taken * weight.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return np.asarray(made)
