"""One blocked pass over two arrays, near the speed of reading them; the results are exact.

The definition (``scan_exact.py``) is in float64, and would read and write each element a dozen
times there. So a block is looked at in its own precision first, while it is in the processor's
cache: upper bounds from that (``scan_quick.py``) decide which elements can change a result, and
only these are computed exactly (``scan_pass.py``). A block of equal bits costs one subtraction.
Extra memory is a few blocks per thread.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from parity.copies import contiguous, cores, is_turned, turn
from parity.scan_pass import Extremes, Pass

BLOCK = 1 << 16
"""Elements of at most four bytes, or half as many wider ones: what is computed of them stays in the
caches of a core."""
TURNS = 4
"""Blocks that a thread takes as one: only one thread at a time is in Python, so each must seldom
be there. With one block at a time two threads are no faster than one."""
READ = 1 << 18
"""Elements that are read from a file at once."""
THREADED = 1 << 20
"""Elements from which two threads are worth starting."""


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
        return Pass(atol).run(_slices(flat, 0, flat[0].size))
    return Pass(atol).run(_read(given))


def _in_threads(flat: list[np.ndarray], atol: float, workers: int) -> Extremes:
    """NumPy lets other threads run while it computes; each takes one piece, in order."""
    return _shared(
        flat[0].size, BLOCK * TURNS, workers, atol, functools.partial(_slices, flat, count=TURNS)
    )


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
        return Pass(atol).run(pieces(0, size))
    with ThreadPoolExecutor(workers) as pool:
        parts = [
            pool.submit(Pass(atol).run, pieces(begin, end))
            for begin, end in zip(edges[:-1], edges[1:], strict=True)
        ]
        found = parts[0].result()
        for piece in parts[1:]:
            found.merge(piece.result())
    return found


def _slices(
    flat: list[np.ndarray], begin: int, end: int, count: int = 1
) -> Iterator[tuple[int, list[np.ndarray]]]:
    narrow = max(array.itemsize for array in flat[:2]) <= 4
    length = count * (BLOCK if narrow else -(-BLOCK // 2))
    for start in range(begin, end, length):
        stop = min(start + length, end)
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
