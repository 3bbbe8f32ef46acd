"""Writing trace files without holding their values.

A safetensors file begins with a header that says where each tensor is, and that is known at the
end only. So values go to a nameless temporary file first (it vanishes with a killed process), and
when the last one is known, header and values are copied into the file that takes the name. It costs
writing twice, and keeps one file that any safetensors reader can read.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from parity.errors import InvalidInput
from parity.trace.atomic import replacing
from parity.trace.layout import METADATA, TENSORS, Header, Stored, encode
from parity.trace.memory import Trace, as_entry, native
from parity.trace.names import flatten, join
from parity.trace.statistics import blocks, describe

DETAILS = ("full", "stats", "first")
AROUND = 2
"""Entries kept in full before and after the first difference."""
IN_MEMORY = 1 << 24
"""Bytes of values that are kept in memory before a temporary file is made."""
BLOCK = 1 << 18


class TraceWriter:
    """Appends entries to a file that appears whole, under its name, when the writer is closed.

    Args:
        path: of the file. An old one stays as it is until then, or for good if an exception ends
            the ``with`` block, or the process is killed.
        side, meta: as of a :class:`Trace`; ``meta`` may be changed until the writer is closed.
        detail: ``full`` keeps every value, ``stats`` shape, dtype, checksum and statistics of each
            entry, ``first`` full values around the first difference and statistics elsewhere.
        around: for ``first``: the entry that is known to differ.
        against: for ``first``: the other side's trace. Each entry is compared as it arrives, within
            the default tolerance of its dtype; the first that differs is the centre.

    With ``first`` the metadata get ``first_difference``: the entry at the centre, or None.

    Raises:
        InvalidInput: an unknown detail, or ``first`` without a way to know what is first.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        side: str = "",
        meta: Mapping[str, Any] | None = None,
        detail: str = "full",
        around: str | None = None,
        against: Trace | None = None,
    ) -> None:
        if detail not in DETAILS:
            raise InvalidInput(f"detail={detail!r}: one of {', '.join(DETAILS)}")
        if (detail == "first") != (around is not None or against is not None):
            raise InvalidInput(
                "detail='first' needs around= (the entry that differs) or against= (the other "
                "side's trace), and no other detail takes them"
            )
        self.path, self.side, self.detail = Path(path), side, detail
        self.meta: dict[str, Any] = dict(meta or {})
        self._around, self._against = around, against
        self._centre: str | None = None
        self._stored: dict[str, Stored | None] = {}
        self._waiting: deque[tuple[str, np.ndarray]] = deque()
        self._full_left = 0
        self._closed = False
        folder = Path(os.path.realpath(self.path)).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._spool: IO[bytes] = tempfile.SpooledTemporaryFile(  # noqa: SIM115 (see abort)
                max_size=IN_MEMORY, dir=str(folder)
            )
        except OSError as error:
            raise InvalidInput(f"{self.path}: cannot be written ({error.strerror})") from None

    @property
    def names(self) -> list[str]:
        """The entries so far, in order."""
        return list(self._stored)

    def add(self, name: str, value: Any) -> None:
        """Append one entry. A name can be used once: recording twice is a bug of the recorder.

        Raises:
            InvalidInput: the value is not one that a trace holds, or the format lacks its dtype.
        """
        if self._closed:
            raise InvalidInput(f"{self.path}: entry {name!r} comes after the writer was closed")
        if name in self._stored:
            raise InvalidInput(f"{self.side or 'trace'}: entry {name!r} recorded twice")
        array = as_entry(name, value, self.side)
        self._add_array(name, array.astype(native(array), copy=False))

    def extend(self, entries: Any, *, scope: str = "") -> None:
        """Append several entries, each under ``scope/``."""
        for name, value in flatten(entries):
            self.add(join(scope, name), value)

    def close(self) -> None:
        """Write the file and give it its name.

        Raises:
            InvalidInput: metadata that is not JSON; or the entry named by ``around`` never came.
        """
        if self._closed:
            return
        if self._around is not None:
            self.abort()
            raise InvalidInput(f"{self.path}: no entry is named {self._around!r} (around)")
        self._flush_waiting()
        if self.detail == "first":
            self.meta["first_difference"] = self._centre
        entries = tuple(entry for entry in self._stored.values() if entry is not None)
        try:
            header = encode(Header(self.side, self.meta, self.detail, entries))
            self._spool.seek(0)
            with replacing(self.path) as file:
                file.write(header)
                shutil.copyfileobj(self._spool, file, 1 << 22)
        except InvalidInput as error:
            raise InvalidInput(f"{self.path}: {error}") from None
        except OSError as error:
            raise InvalidInput(f"{self.path}: cannot be written ({error})") from None
        finally:
            self.abort()

    def abort(self) -> None:
        """Throw away what was added."""
        self._closed = True
        self._waiting.clear()
        self._spool.close()

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def _add_array(self, name: str, array: Any) -> None:
        """An array, or an entry of another file."""
        if (why := _obstacle(name, array.dtype)) is not None:
            raise InvalidInput(
                f"{self.path}: this trace cannot be stored: entry {name!r}: the format lacks {why}"
            )
        self._stored[name] = None  # its place in the order; what is stored of it follows
        if self.detail == "full":
            self._store_full(name, array)
        elif self.detail == "stats":
            self._store_statistics(name, array)
        else:
            self._store_near(name, array)

    def _store_near(self, name: str, array: Any) -> None:
        if self._full_left:
            self._full_left -= 1
            self._store_full(name, array)
        elif self._is_centre(name, array):
            while self._waiting:
                self._store_full(*self._waiting.popleft())
            self._store_full(name, array)
            self._around = self._against = None
            self._centre = name
            self._full_left = AROUND
        else:
            # kept for a moment: it may turn out to be just before the first difference
            self._waiting.append((name, _kept(array)))
            if len(self._waiting) > AROUND:
                self._store_statistics(*self._waiting.popleft())

    def _is_centre(self, name: str, array: Any) -> bool:
        if self._against is None:
            return name == self._around
        from parity.compare import compare_arrays
        from parity.tolerance import default_tolerance

        other = self._against.entry(name) if name in self._against else None
        bound = default_tolerance(array.dtype)
        return not compare_arrays(array, other, name=name, tolerance=bound).agrees

    def _flush_waiting(self) -> None:
        while self._waiting:
            self._store_statistics(*self._waiting.popleft())

    def _store_full(self, name: str, array: Any) -> None:
        digest, begin = hashlib.sha256(), self._spool.tell()
        try:
            for block in blocks(array, BLOCK):
                data = block.view(np.uint8).data
                digest.update(data)
                self._spool.write(data)
        except OSError as error:
            raise InvalidInput(f"{self.path}: entry {name!r}: {error.strerror}") from None
        size = self._spool.tell() - begin
        shape = tuple(array.shape)
        self._stored[name] = Stored(name, array.dtype.name, shape, digest.hexdigest(), size=size)

    def _store_statistics(self, name: str, array: Any) -> None:
        found = describe(array)
        facts = found.to_json()
        self._stored[name] = Stored(
            name, found.dtype.name, found.shape, found.sha256, statistics=facts
        )


def write_trace(
    path: str | os.PathLike[str],
    trace: Trace,
    *,
    detail: str = "full",
    around: str | None = None,
    against: Trace | None = None,
) -> None:
    """Write a trace, or copy one from another file; a larger one than memory holds too.

    Raises:
        InvalidInput: as :class:`TraceWriter`; or an entry of the source holds statistics only where
            its values are asked for.
    """
    options: dict[str, Any] = {"detail": detail, "around": around, "against": against}
    with TraceWriter(path, side=trace.side, meta=trace.meta, **options) as writer:
        for name, entry in _entries(trace):
            writer._add_array(name, entry)


def _entries(trace: Trace) -> Iterator[tuple[str, Any]]:
    """Of a file, entries that are read block by block; statistics have no values to copy."""
    for name in trace:
        entry = trace.entry(name)
        yield name, entry if hasattr(entry, "blocks") else trace[name]


def _obstacle(name: str, dtype: np.dtype[Any]) -> str | None:
    """Why an entry has no place in a file."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return "names that are no Unicode text"
    if name == METADATA:
        return "this name for an entry"
    return None if dtype.name in TENSORS else f"{dtype} values"


def _kept(array: Any) -> Any:
    return np.array(array, copy=True) if isinstance(array, np.ndarray) else array
