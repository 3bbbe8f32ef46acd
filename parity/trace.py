"""A trace: named arrays in execution order, plus what they were recorded on.

Names are paths (``forward/actor/l1/output``, ``grad/critic/l2/kernel``, ``env/17/observation``);
the order of the entries is the order in which the values came into being, so the first difference
between two traces is the place where their subjects part.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from parity.backends import to_numpy
from parity.errors import InvalidInput

FORMAT = "parity-trace/1"
SEPARATOR = "/"


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

    def add(self, name: str, value: Any) -> None:
        """Append one entry. A name can be used once: recording twice is a bug of the recorder."""
        if name in self._entries:
            raise InvalidInput(f"{self.side or 'trace'}: entry {name!r} recorded twice")
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            raise InvalidInput(
                f"{self.side or 'trace'}: entry {name!r} is a masked array, whose mask would be "
                "lost; give its filled(...) values"
            )
        array = to_numpy(value)
        if array.dtype.kind not in "biufc" and array.dtype.name != "bfloat16":
            raise InvalidInput(
                f"{self.side or 'trace'}: entry {name!r} holds {array.dtype} values "
                f"({type(value).__name__}); a trace holds numbers"
            )
        native = array.dtype.newbyteorder("=")  # a foreign byte order is storage, not a dtype
        self._entries[name] = np.array(array, dtype=native, copy=True)

    def extend(self, entries: Mapping[str, Any], *, scope: str = "") -> None:
        """Append several entries, each under ``scope/``."""
        for name, value in flatten(entries):
            self.add(join(scope, name), value)

    @property
    def names(self) -> list[str]:
        return list(self._entries)

    def items(self) -> Iterable[tuple[str, np.ndarray]]:
        return self._entries.items()

    def under(self, prefix: str) -> dict[str, np.ndarray]:
        """The entries below ``prefix/``, with the prefix cut off."""
        start = prefix.rstrip(SEPARATOR) + SEPARATOR
        return {n[len(start) :]: v for n, v in self._entries.items() if n.startswith(start)}

    def __getitem__(self, name: str) -> np.ndarray:
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Trace(side={self.side!r}, entries={len(self)})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace as safetensors. The file appears whole or not at all.

        Raises:
            InvalidInput: metadata that is not JSON, or a dtype that the format lacks.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import save

        header = {
            "format": FORMAT,
            "side": self.side,
            "order": self.names,
            "meta": self.meta,
            "sha256": _digest(self._entries),
        }
        # safetensors wants contiguous data
        arrays = {n: np.ascontiguousarray(a).reshape(a.shape) for n, a in self.items()}
        try:
            data = save(arrays, metadata={"parity": json.dumps(header)})
        except (KeyError, TypeError, ValueError, SafetensorError) as error:
            raise InvalidInput(f"{path}: this trace cannot be stored ({error!r})") from None
        write_atomic(Path(path), data)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Read a trace written by :meth:`save`.

        Raises:
            InvalidInput: the file is missing, damaged, or not a trace.
        """
        entries, header = _read_safetensors(path)
        if header is None:
            raise InvalidInput(f"{path}: a safetensors file, but not a {FORMAT} trace")
        return cls(entries, side=header["side"], meta=header["meta"])

    @classmethod
    def read_safetensors(cls, path: str | os.PathLike[str]) -> Trace:
        """Read any safetensors file; one that :meth:`save` did not write has no set order.

        Raises:
            InvalidInput: the file is missing or damaged.
        """
        entries, header = _read_safetensors(path)
        if header is None:
            return cls(entries, side=Path(path).name)
        return cls(entries, side=header["side"], meta=header["meta"])


def _read_safetensors(
    path: str | os.PathLike[str],
) -> tuple[dict[str, np.ndarray], dict[str, Any] | None]:
    """The arrays of a safetensors file, and the trace header if it has one."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="numpy") as file:
            header = json.loads((file.metadata() or {}).get("parity", "null"))
            if not isinstance(header, dict) or header.get("format") != FORMAT:
                return {name: file.get_tensor(name) for name in sorted(file.keys())}, None
            if sorted(header["order"]) != sorted(file.keys()):
                raise InvalidInput(f"{path}: the entries named in its header are not all there")
            entries = {name: file.get_tensor(name) for name in header["order"]}
            if _digest(entries) != header["sha256"]:
                raise InvalidInput(f"{path}: damaged, its values are not those that were written")
            return entries, {"side": header["side"], "meta": header["meta"]}
    except InvalidInput:
        raise
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file") from None
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"{path}: not a readable trace ({error!r})") from None


def _digest(entries: Mapping[str, np.ndarray]) -> str:
    """Of names, dtypes, shapes and values: safetensors itself checks nothing but its header."""
    digest = hashlib.sha256()
    for name, array in entries.items():
        digest.update(f"{name}:{array.dtype}:{array.shape}:".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def join(*parts: str) -> str:
    """Join path parts, leaving out empty ones."""
    return SEPARATOR.join(part for part in parts if part)


def flatten(tree: Any, prefix: str = "", *, keep_empty: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield ``(path, leaf)`` of nested mappings, sequences, named tuples and dataclasses.

    ``None`` leaves are left out; a leaf at the top is named ``value``. Empty containers vanish,
    unless ``keep_empty`` makes an empty array of each: then nobody can take them for compared.
    """
    fields = getattr(tree, "_fields", None) or getattr(tree, "__dataclass_fields__", None)
    if tree is None:
        return
    if isinstance(tree, Mapping):
        items: Iterable[tuple[Any, Any]] = tree.items()
    elif fields is not None and not isinstance(tree, type):
        items = [(name, getattr(tree, name)) for name in fields]
    elif isinstance(tree, (list, tuple)) and not _is_plain_numbers(tree):
        items = enumerate(tree)
    else:
        yield prefix or "value", tree
        return
    empty = True
    for key, value in items:
        empty = False
        yield from flatten(value, join(prefix, str(key)), keep_empty=keep_empty)
    if empty and keep_empty:
        yield prefix or "value", np.zeros(0)


def _is_plain_numbers(values: list[Any] | tuple[Any, ...]) -> bool:
    """A (nested) list of Python numbers is one array, not a container of leaves."""
    return bool(values) and all(
        isinstance(v, (bool, int, float))
        or (isinstance(v, (list, tuple)) and not hasattr(v, "_fields") and _is_plain_numbers(v))
        for v in values
    )


def write_atomic(path: Path, data: bytes) -> None:
    """Write ``data`` beside ``path`` and rename: a killed writer leaves the old file or none.

    A link stays one: its target is written. A device or pipe is written to, never replaced.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as special:
            special.write(data)
        return
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
