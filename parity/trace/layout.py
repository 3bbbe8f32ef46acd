"""The layout of a trace file, version 2: a safetensors file whose header is checked too.

    8 bytes      length of the header, little-endian
    header       JSON: ``__metadata__``, dtype, shape and place of each tensor; blanks at its end
    data         the tensors in execution order, C order, little-endian, without gaps

``__metadata__`` comes first and holds two strings. ``parity.sha256`` is the checksum of the length
and the header with these 64 digits as zeros. ``parity`` is a JSON document: format, side, metadata,
and each entry's dtype, shape and checksum; an entry without a tensor has its statistics there. So
every byte of the file is under a checksum. Any safetensors reader can read the tensors.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.errors import InvalidInput

FORMAT = "parity-trace/2"
CLAIM = "parity-trace/"
METADATA = "__metadata__"
MAX_HEADER = 100_000_000
"""Bytes; the bound that safetensors itself sets."""
_START = b'{"__metadata__":{"parity.sha256":"'
_ZEROS = b"0" * 64
_DIGITS = slice(8 + len(_START), 8 + len(_START) + 64)

TENSORS: Mapping[str, str] = {
    "bool": "BOOL",
    "int8": "I8",
    "uint8": "U8",
    "int16": "I16",
    "uint16": "U16",
    "float16": "F16",
    "bfloat16": "BF16",
    "int32": "I32",
    "uint32": "U32",
    "float32": "F32",
    "int64": "I64",
    "uint64": "U64",
    "float64": "F64",
    "complex64": "F32",
    "complex128": "F64",
}
"""dtype -> the name in safetensors. Complex numbers are pairs, in a last dimension of 2."""


@dataclass(frozen=True)
class Stored:
    """What the header says of one entry.

    Attributes:
        sha256: of the values' bytes; empty where the file has none for it.
        begin, size: place in the file and length in bytes; ``begin`` is -1 where there are
            statistics only.
        statistics: as in :class:`parity.trace.statistics.Statistics`, for such an entry.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    sha256: str = ""
    begin: int = -1
    size: int = 0
    statistics: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Header:
    """A file's header, verified."""

    side: str
    meta: dict[str, Any]
    detail: str
    entries: tuple[Stored, ...]


def encode(header: Header) -> bytes:
    """Length and header. The entries' ``begin`` is not used: data follow in the entries' order.

    Raises:
        InvalidInput: metadata that is not JSON, or more entries than a header can hold.
    """
    rows, tensors, place = [], {}, 0
    for entry in header.entries:
        row: dict[str, Any] = {"name": entry.name, "dtype": entry.dtype, "shape": entry.shape}
        row["sha256"] = entry.sha256
        if entry.statistics is not None:
            row["statistics"] = entry.statistics
        else:
            tensors[entry.name] = {
                "dtype": TENSORS[entry.dtype],
                "shape": tensor_shape(entry),
                "data_offsets": [place, place + entry.size],
            }
            place += entry.size
        rows.append(row)
    document = {"format": FORMAT, "side": header.side, "detail": header.detail}
    try:
        text = json.dumps({**document, "meta": header.meta, "entries": rows}, **_SHORT)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"this trace cannot be stored: its metadata is not JSON ({error})"
        ) from None
    body = _START + _ZEROS + b'","parity":' + json.dumps(text).encode() + b"}"
    body += b"".join(b"," + json.dumps({n: t}, **_SHORT)[1:-1].encode() for n, t in tensors.items())
    body += b"}"
    body += b" " * (-len(body) % 8)
    if len(body) > MAX_HEADER:
        raise InvalidInput(
            f"this trace cannot be stored: the facts of its {len(rows):,} entries take "
            f"{len(body):,} bytes, and a header holds {MAX_HEADER:,}; record fewer entries"
        )
    raw = len(body).to_bytes(8, "little") + body
    digest = hashlib.sha256(raw).hexdigest().encode()
    return raw[: _DIGITS.start] + digest + raw[_DIGITS.stop :]


_SHORT: dict[str, Any] = {"allow_nan": False, "separators": (",", ":")}


def tensor_shape(entry: Stored) -> list[int]:
    """The shape in the file."""
    return [*entry.shape, 2] if entry.dtype.startswith("complex") else list(entry.shape)


def is_signed(raw: bytes) -> bool:
    """Whether a header (with its length) begins as version 2 does."""
    return raw[8:].startswith(_START)


def verify(raw: bytes) -> bool:
    """Whether the header is the one that was written."""
    blank = raw[: _DIGITS.start] + _ZEROS + raw[_DIGITS.stop :]
    return hashlib.sha256(blank).hexdigest().encode() == raw[_DIGITS]


def version_of(document: Any) -> int | None:
    """The version that a ``parity`` document claims; None for none."""
    claim = document.get("format") if isinstance(document, dict) else None
    found = re.fullmatch(r"parity-trace/(\d{1,9})", claim) if isinstance(claim, str) else None
    return int(found[1]) if found else None


def decode(document: Mapping[str, Any], tensors: Mapping[str, Stored]) -> Header:
    """The header of version 2 from its parsed parts.

    Raises:
        KeyError, TypeError, ValueError: the parts do not fit each other.
    """
    entries = []
    for row in document["entries"]:
        name, shape = row["name"], tuple(row["shape"])
        values = row.get("statistics")
        if values is None:
            held = tensors[name]
            told = Stored(name, row["dtype"], shape, row["sha256"], held.begin, held.size)
            if tensor_shape(told) != list(held.shape) or TENSORS[told.dtype] != held.dtype:
                raise ValueError(f"entry {name!r}: two shapes or dtypes")
        else:
            told = Stored(name, row["dtype"], shape, row["sha256"], statistics=values)
        entries.append(told)
    names = [entry.name for entry in entries]
    full = [entry.name for entry in entries if entry.statistics is None]
    if len(set(names)) != len(names) or set(full) != set(tensors):
        raise ValueError("the entries it names are not all there")
    return Header(document["side"], dict(document["meta"]), document["detail"], tuple(entries))


def parse_tensors(header: Mapping[str, Any], data: int, end: int) -> dict[str, Stored]:
    """Name -> place of every tensor; dtypes as safetensors calls them.

    Args:
        data: where the data begin in the file.
        end: length of the file.

    Raises:
        ValueError: a place, shape or dtype that does not fit the file, naming the entry.
    """
    found: dict[str, Stored] = {}
    for name, facts in header.items():
        if name == METADATA:
            continue
        try:
            dtype, shape, (begin, stop) = facts["dtype"], facts["shape"], facts["data_offsets"]
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"entry {name!r} lacks a dtype, shape or place") from None
        if not _are_counts([*_list(shape), begin, stop]) or begin > stop:
            raise ValueError(f"entry {name!r} has the shape {shape} at {begin}:{stop}")
        if data + stop > end:
            raise ValueError(f"entry {name!r} ends after the file does: truncated")
        width = _WIDTHS.get(dtype)
        if width is not None and math.prod(shape) * width != stop - begin:
            raise ValueError(
                f"entry {name!r}: shape {shape} of {dtype} is not {stop - begin} bytes"
            )
        found[name] = Stored(name, dtype, tuple(shape), begin=data + begin, size=stop - begin)
    place = data
    for entry in sorted(found.values(), key=lambda e: (e.begin, e.size)):
        if entry.begin != place:
            raise ValueError(f"entry {entry.name!r} does not follow the one before it")
        place += entry.size
    if place != end:
        raise ValueError(f"{end - place} bytes after its last entry belong to none")
    return found


def _list(shape: Any) -> Sequence[Any]:
    return shape if isinstance(shape, list) else [None]


def _are_counts(numbers: Sequence[Any]) -> bool:
    return all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in numbers)


_WIDTHS = {
    tensor: 2 if name == "bfloat16" else np.dtype(name).itemsize
    for name, tensor in TENSORS.items()
    if not name.startswith("complex")
}
