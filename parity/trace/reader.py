"""Reading trace files: the header at once, the values of an entry when they are asked for.

Values are read into buffers, not mapped: pages of a mapped file count as this process's memory,
and a file that is cut while it is mapped kills the process.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from parity.errors import InvalidInput
from parity.trace import layout
from parity.trace.layout import Header, Stored
from parity.trace.memory import Trace
from parity.trace.statistics import Statistics

FIRST = "parity-trace/1"


class StoredArray:
    """An entry's values, still in the file.

    Attributes:
        shape, dtype, size: of the array.
    """

    def __init__(self, reader: TraceReader, stored: Stored) -> None:
        self._reader, self._stored = reader, stored
        self.shape = stored.shape
        self.size = math.prod(stored.shape)
        self.dtype = _dtype(reader.path, stored)

    def blocks(self, count: int) -> Iterator[np.ndarray]:
        """Consecutive pieces of at most ``count`` elements, in C order; each lives until the next.

        Raises:
            InvalidInput: after the last piece, where the values are not those that were written.
        """
        room = np.empty(min(count, self.size), self.dtype)
        digest = hashlib.sha256()
        for start in range(0, self.size, count):
            block = room[: min(count, self.size - start)]
            self._reader._read_into(block, self._stored, start)
            digest.update(block.view(np.uint8).data)
            yield block
        if self._stored.sha256 and digest.hexdigest() != self._stored.sha256:
            self._reader._damaged(self._stored)

    def read(self) -> np.ndarray:
        """All values, verified."""
        array = np.empty(self.size, self.dtype)
        if self.size:
            self._reader._read_into(array, self._stored, 0)
        if self._stored.sha256 and _sha256(array) != self._stored.sha256:
            self._reader._damaged(self._stored)
        return array.reshape(self.shape)


class TraceReader(Trace):
    """A trace in a file. Everything that takes a :class:`Trace` takes it; it cannot be changed.

    Attributes:
        path: of the file.
        detail: ``full``, ``stats`` or ``first``: which entries have values.
    """

    def __init__(self, path: Path, file: io.FileIO, header: Header) -> None:
        super().__init__(side=header.side, meta=header.meta)
        self.path, self.detail = path, header.detail
        self._file = file
        self._stored = {entry.name: entry for entry in header.entries}

    def entry(self, name: str) -> StoredArray | Statistics:
        """The entry, to be read block by block; statistics where the file holds no values of it."""
        stored = self._stored[name]
        if stored.statistics is None:
            return StoredArray(self, stored)
        try:
            dtype = _dtype(self.path, stored)
            return Statistics.from_json(stored.statistics, dtype, stored.shape, stored.sha256)
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput(
                f"{self.path}: entry {name!r} has odd statistics ({error})"
            ) from None

    def __getitem__(self, name: str) -> np.ndarray:
        found = self.entry(name)
        if isinstance(found, Statistics):
            raise InvalidInput(
                f"{self.path}: entry {name!r} holds statistics only; its values were not recorded "
                "(--detail full records them)"
            )
        return found.read()

    @property
    def names(self) -> list[str]:
        return list(self._stored)

    def items(self) -> Iterable[tuple[str, np.ndarray]]:
        return ((name, self[name]) for name in self._stored)

    def __contains__(self, name: object) -> bool:
        return name in self._stored

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    def add(self, name: str, value: Any, *, copy: bool = True) -> None:
        raise InvalidInput(f"{self.path}: a trace that is read cannot be added to")

    def close(self) -> None:
        """Close the file; entries cannot be read any more."""
        self._file.close()

    def __enter__(self) -> TraceReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_into(self, array: np.ndarray, stored: Stored, start: int) -> None:
        place = array.view(np.uint8).data
        at = stored.begin + start * array.itemsize
        while place.nbytes:
            try:
                self._file.seek(at + array.nbytes - place.nbytes)
                count = self._file.readinto(place)
            except (OSError, ValueError) as error:  # ValueError: it was closed
                raise InvalidInput(f"{self.path}: entry {stored.name!r}: {error}") from None
            if not count:
                raise InvalidInput(f"{self.path}: truncated in entry {stored.name!r}")
            place = place[count:]

    def _damaged(self, stored: Stored) -> NoReturn:
        raise InvalidInput(
            f"{self.path}: damaged, the values of entry {stored.name!r} are not those that were "
            "written"
        )


def open_trace(path: str | os.PathLike[str]) -> TraceReader:
    """Open a trace, verify its header, and read no values (of version 1: all, for its checksum).

    Raises:
        InvalidInput: the file is missing, damaged, not a trace, or of a newer version.
    """
    reader, known = _open(Path(path))
    if not known:
        reader.close()
        raise InvalidInput(f"{path}: a safetensors file, but not a {layout.CLAIM}* trace")
    return reader


def open_arrays(path: str | os.PathLike[str]) -> TraceReader:
    """Open a trace or any other safetensors file, whose entries come in the order of their names.

    Raises:
        InvalidInput: the file is missing or damaged.
    """
    return _open(Path(path))[0]


def _open(path: Path) -> tuple[TraceReader, bool]:
    """A reader, and whether the file is a trace."""
    try:
        file = _File(path)
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file") from None
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror or error})") from None
    try:
        return _read_header(path, file)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        file.close()
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{path}: not a readable trace ({_why(error)})") from None


class _File(io.FileIO):
    """A file that is closed when nobody holds it: entries may outlive any block."""

    def __del__(self) -> None:
        self.close()


def _why(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"its header lacks {error}"
    return "its header is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _read_header(path: Path, file: io.FileIO) -> tuple[TraceReader, bool]:
    end = os.fstat(file.fileno()).st_size
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or not 2 <= length <= layout.MAX_HEADER:
        raise ValueError(f"it does not begin with the length of a header, of {end} bytes")
    if 8 + length > end:
        raise ValueError(f"truncated: a header of {length} bytes in a file of {end}")
    raw = start + file.read(length)
    signed = layout.is_signed(raw)
    intact = signed and layout.verify(raw)
    try:
        header = json.loads(raw[8:])
    except ValueError as error:
        if signed:
            raise InvalidInput(f"{path}: damaged, its header is not the one written") from None
        raise ValueError(f"its header is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise ValueError("its header is not a mapping")
    metadata = header.get(layout.METADATA) or {}
    claims = any(layout.CLAIM in str(text) for text in metadata.values())
    text = str(metadata.get("parity", ""))
    document = json.loads(text) if layout.CLAIM in text else None
    version = layout.version_of(document)
    if (signed and not intact) or (claims and version is None) or (version == 2 and not signed):
        raise InvalidInput(f"{path}: damaged, its header is not the one that was written")
    if version is not None and version > 2:
        raise InvalidInput(
            f"{path}: version {version} of the format, and this parity reads up to 2: update it"
        )
    tensors = layout.parse_tensors(header, 8 + length, end)
    if version == 2:
        return TraceReader(path, file, layout.decode(document or {}, tensors)), True
    if version == 1:
        return _version1(path, file, document or {}, tensors), True
    return TraceReader(path, file, _foreign(path, tensors)), False


def _foreign(path: Path, tensors: Mapping[str, Stored]) -> Header:
    entries = tuple(_plain(tensors[name]) for name in sorted(tensors))
    return Header(path.name, {}, "full", entries)


def _plain(tensor: Stored) -> Stored:
    """A tensor as safetensors describes it: no complex numbers, no checksum."""
    names = {held: name for name, held in layout.TENSORS.items() if not name.startswith("complex")}
    return Stored(
        tensor.name,
        names.get(tensor.dtype, tensor.dtype),
        tensor.shape,
        "",
        tensor.begin,
        tensor.size,
    )


def _version1(
    path: Path, file: io.FileIO, document: Mapping[str, Any], tensors: Mapping[str, Stored]
) -> TraceReader:
    """Version 1 had one checksum of all entries together: it is computed here, block by block."""
    order = document["order"]
    if sorted(order) != sorted(tensors):
        raise InvalidInput(f"{path}: the entries named in its header are not all there")
    entries = tuple(_plain(tensors[name]) for name in order)
    header = Header(document["side"], dict(document["meta"]), "full", entries)
    reader = TraceReader(path, file, header)
    digest = hashlib.sha256()
    for name in order:
        array = reader.entry(name)
        assert isinstance(array, StoredArray)
        digest.update(f"{name}:{array.dtype}:{array.shape}:".encode())
        for block in array.blocks(1 << 18):
            digest.update(block.view(np.uint8).data)
    if digest.hexdigest() != document["sha256"]:
        raise InvalidInput(f"{path}: damaged, its values are not those that were written")
    return reader


def _dtype(path: Path, stored: Stored) -> np.dtype[Any]:
    if stored.dtype == "bfloat16":
        try:
            from ml_dtypes import bfloat16
        except ImportError:
            raise InvalidInput(
                f"{path}: entry {stored.name!r} holds bfloat16 values, which NumPy reads with "
                "ml_dtypes only: pip install ml_dtypes"
            ) from None
        dtype: np.dtype[Any] = np.dtype(bfloat16)
        return dtype
    if stored.dtype not in layout.TENSORS:
        raise InvalidInput(
            f"{path}: entry {stored.name!r} holds {stored.dtype} values, which NumPy cannot hold"
        )
    return np.dtype(stored.dtype)


def _sha256(array: np.ndarray) -> str:
    return hashlib.sha256(array.view(np.uint8).data).hexdigest()
