"""A trace in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.backends import to_numpy
from parity.copies import fresh
from parity.errors import InvalidInput
from parity.trace.names import SEPARATOR, flatten, join

if TYPE_CHECKING:
    from parity.trace.reader import StoredArray
    from parity.trace.statistics import Statistics


class Trace:
    """Ordered named arrays with metadata.

    Args:
        entries: name -> array; arrays of any framework, Python numbers and booleans.
        side: whose values these are: ``torch``, ``tf``, ``reference``, ...
        meta: JSON-serialisable facts about the recording.

    Every array is copied, so a later in-place operation cannot change what was recorded.
    """

    def __init__(
        self,
        entries: Mapping[str, Any] | None = None,
        *,
        side: str = "",
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.side = side
        self.meta: dict[str, Any] = dict(meta or {})
        self._entries: dict[str, np.ndarray] = {}
        for name, value in (entries or {}).items():
            self.add(name, value)

    @classmethod
    def from_nested(cls, tree: Any, *, side: str = "") -> Trace:
        """Flatten nested mappings, sequences, named tuples and dataclasses into a trace."""
        trace = cls(side=side)
        for name, value in flatten(tree):
            trace.add(name, value)
        return trace

    def add(self, name: str, value: Any, *, copy: bool = True) -> None:
        """Append one entry. A name can be used once: recording twice is a bug of the recorder.

        Args:
            copy: False for an array that nobody will write to: it is kept as it is.
        """
        if name in self._entries:
            raise InvalidInput(f"{self.side or 'trace'}: entry {name!r} recorded twice")
        array = as_entry(name, value, self.side)
        dtype = native(array)
        kept = array if array.dtype == dtype else array.astype(dtype)
        self._entries[name] = fresh(kept) if copy else kept

    def extend(self, entries: Mapping[str, Any], *, scope: str = "") -> None:
        """Append several entries, each under ``scope/``."""
        for name, value in flatten(entries):
            self.add(join(scope, name), value)

    def _repr_html_(self) -> str:
        """What a notebook shows for it."""
        from parity.html.cell import trace_cell

        return trace_cell(self)

    @property
    def names(self) -> list[str]:
        return list(self._entries)

    def items(self) -> Iterable[tuple[str, np.ndarray]]:
        return self._entries.items()

    def entry(self, name: str) -> np.ndarray | StoredArray | Statistics:
        """The entry as it is kept: here an array; in a file it may be read later, or in part."""
        return self[name]

    def table(self, *, values: bool = False) -> dict[str, list[Any]]:
        """Plain columns, as ``pandas.DataFrame`` and ``pyarrow.table`` take them.

        Args:
            values: a row for each value instead of each entry with its statistics.
        """
        from parity.table import table

        return table(self, values=values)

    def under(self, prefix: str) -> dict[str, np.ndarray]:
        """The entries below ``prefix/``, with the prefix cut off."""
        start = prefix.rstrip(SEPARATOR) + SEPARATOR
        return {n[len(start) :]: self[n] for n in self if n.startswith(start)}

    def __getitem__(self, name: str) -> np.ndarray:
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(side={self.side!r}, entries={len(self)})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace as safetensors. The file appears whole or not at all.

        Raises:
            InvalidInput: metadata that is not JSON, or a dtype that the format lacks.
        """
        from parity.trace.writer import write_trace

        write_trace(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Read a trace written by :meth:`save` into memory, every value verified.

        Raises:
            InvalidInput: the file is missing, damaged, not a trace, or holds statistics only.
        """
        from parity.trace.reader import open_trace

        with open_trace(path) as reader:
            return reader.in_memory()

    def in_memory(self) -> Trace:
        """The same trace with every value read."""
        return Trace._filled(dict(self.items()), self.side, self.meta)

    @classmethod
    def read_safetensors(cls, path: str | os.PathLike[str]) -> Trace:
        """Read any safetensors file; one that :meth:`save` did not write has no set order.

        Raises:
            InvalidInput: the file is missing or damaged.
        """
        from parity.trace.reader import open_arrays

        with open_arrays(path) as reader:
            return reader.in_memory()

    @classmethod
    def _filled(cls, entries: dict[str, np.ndarray], side: str, meta: Mapping[str, Any]) -> Trace:
        """A trace of arrays that nobody else holds."""
        trace = cls(side=side, meta=meta)
        trace._entries = entries
        return trace


def as_entry(name: str, value: Any, side: str) -> np.ndarray:
    """The array of a value that is to be recorded; it may share the value's memory.

    Raises:
        InvalidInput: the value holds no numbers, or a mask that would be lost.
    """
    where = f"{side or 'trace'}: entry {name!r}"
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InvalidInput(
            f"{where} is a masked array, whose mask would be lost; give its filled(...) values"
        )
    array = to_numpy(value)
    if array.dtype.kind not in "biufc" and array.dtype.name != "bfloat16":
        raise InvalidInput(
            f"{where} holds {array.dtype} values ({type(value).__name__}); a trace holds numbers"
        )
    return array


def native(array: np.ndarray) -> np.dtype[Any]:
    """The dtype in this machine's byte order: a foreign one is storage, not a dtype."""
    dtype: np.dtype[Any] = array.dtype.newbyteorder("=")
    return dtype
