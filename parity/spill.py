"""Large arrays of a recording, kept in a file until they are compared.

A check of a large pair records more than it looks at in one moment: every gradient of both sides,
every activation. Inside :func:`spilling` such an array is written to a temporary file, and what the
recording holds is a view of the file, only to be read: an ordinary array, whose values come into
memory when someone reads them. :func:`forget` lets go of what was read. The file has no name and
vanishes with the last array.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, Any

import numpy as np

LARGE = 1 << 20
"""float32 elements from which an array is worth a place in a file; half as many of float64."""
PIECE = 1 << 30
"""Bytes of one file, of which an empty part costs nothing: few files, since a process may have no
more than about a thousand open."""


def is_large(array: Any) -> bool:
    """Whether an array, or an entry of a file, is worth a place in a file."""
    return bool(array.size * array.dtype.itemsize >= 4 * LARGE)


class Store:
    """Temporary files that are filled one after the other."""

    def __init__(self) -> None:
        self._maps: list[mmap.mmap] = []
        self._file: IO[bytes] | None = None
        self._used = 0

    def keep(self, array: np.ndarray) -> np.ndarray | None:
        """A view of the file that holds the array; None: it is small, or the disk is full."""
        if not is_large(array) or array.dtype.kind not in "biufc":
            return None
        turned = not array.flags.c_contiguous and array.flags.f_contiguous
        plain = np.ascontiguousarray(array.T if turned else array)
        try:
            view = self._written(plain)
        except OSError:
            return None
        return view.T if turned else view

    def _written(self, plain: np.ndarray) -> np.ndarray:
        if self._file is None or self._used + plain.nbytes > len(self._maps[-1]):
            self._begin(max(PIECE, plain.nbytes))
        assert self._file is not None
        place = self._used
        self._file.seek(place)
        self._file.write(plain.reshape(-1).view(np.uint8).data)
        self._file.flush()
        # the next begins on a page of its own
        self._used = place + -(-plain.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        flat = np.frombuffer(self._maps[-1], plain.dtype, plain.size, place)
        return flat.reshape(plain.shape)

    def _begin(self, size: int) -> None:
        self.close()
        file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the store)
        try:
            file.truncate(size)
            # torch warns of arrays that are read-only: a write would change this process's view
            self._maps.append(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY))
        except BaseException:
            file.close()
            raise
        self._file, self._used = file, 0

    def close(self) -> None:
        """Nothing more is written; what is stored stays as long as someone holds it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def forget(self) -> None:
        """Let go of the memory of what was read: it is read again when it is wanted."""
        for piece in self._maps if hasattr(mmap, "MADV_DONTNEED") else ():
            piece.madvise(mmap.MADV_DONTNEED)


_STORE: ContextVar[Store | None] = ContextVar("spill", default=None)


@contextmanager
def spilling(wanted: bool = True) -> Iterator[None]:
    """Large arrays that are recorded inside go to a file, if ``wanted``."""
    new = Store() if wanted else None
    token = _STORE.set(new)
    try:
        yield
    finally:
        _STORE.reset(token)
        if new is not None:
            new.close()


def store() -> Store | None:
    """Where large arrays go now; None: they stay in memory."""
    return _STORE.get()


def kept(array: np.ndarray) -> np.ndarray:
    """An array that nobody will write to: a view of the file if it is held there, else itself."""
    found = _STORE.get()
    stored = None if found is None else found.keep(array)
    return array if stored is None else stored


def copied(array: np.ndarray) -> np.ndarray:
    """The values now of an array that others may write to: in the file, or as a copy."""
    found = _STORE.get()
    stored = None if found is None else found.keep(array)
    return np.array(array) if stored is None else stored


def forget() -> None:
    """Let go of the memory of what was read from the file."""
    found = _STORE.get()
    if found is not None:
        found.forget()
