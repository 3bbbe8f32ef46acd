"""Large arrays in C order. NumPy copies a transposed matrix along its slow axis, five times slower
than memory allows where rows are a power of two apart; here it is done in blocks that fit a cache.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

BLOCK = 256
PAD = 16
"""Elements by which the rows of a block are kept apart, so that they do not share cache lines."""
SMALL = 1 << 16
"""Elements up to which NumPy's own way is as fast."""
THREADED = 1 << 22
"""Elements from which two threads are worth starting."""


def contiguous(array: np.ndarray) -> np.ndarray:
    """The array itself where it is in C order; else a copy that is."""
    if array.flags.c_contiguous:
        return array
    return _transposed(array.T) if is_turned(array) else np.ascontiguousarray(array)


def is_turned(array: np.ndarray) -> bool:
    """Whether it is a large matrix that is stored by columns."""
    turned = array.flags.f_contiguous and not array.flags.c_contiguous
    return bool(turned and array.ndim == 2 and array.size >= SMALL)


def turn(array: np.ndarray, out: np.ndarray) -> np.ndarray:
    """``out``, with the values of some rows of a matrix that is stored by columns."""
    _fill(out, array.T, range(0, len(out), BLOCK))
    return out


def fresh(array: np.ndarray) -> np.ndarray:
    """A copy in C order, which shares no memory with the array."""
    made = contiguous(array)
    return np.array(made, order="C") if np.may_share_memory(made, array) else made


def _transposed(source: np.ndarray) -> np.ndarray:
    """``source.T`` in memory of its own."""
    out = np.empty(source.shape[::-1], source.dtype)
    starts = range(0, len(out), BLOCK)
    workers = min(cores(), 4) if out.size >= THREADED else 1
    if workers == 1:
        _fill(out, source, starts)
        return out
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda k: _fill(out, source, starts[k::workers]), range(workers)))
    return out


def _fill(out: np.ndarray, source: np.ndarray, starts: range) -> None:
    room = np.empty((BLOCK, BLOCK + PAD), out.dtype)
    for i in starts:
        for j in range(0, len(source), BLOCK):
            block = source[j : j + BLOCK, i : i + BLOCK]
            near = room[: block.shape[0], : block.shape[1]]
            np.copyto(near, block)
            np.copyto(out[i : i + BLOCK, j : j + BLOCK], near.T)


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
