"""Nested outputs of layers and functions as entries of a trace, and back.

A trace holds named arrays; what a layer returns may be a tuple, a list or a mapping of them. The
structure goes into the metadata as JSON, with the names of the entries where the arrays stood.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from parity.errors import InvalidInput
from parity.trace import Trace, join


class Sink(Protocol):
    """What a recording is written to: a trace in memory, or a file that is being written."""

    def add(self, name: str, value: Any) -> None:
        """Append one entry."""


class Book(Sink, Protocol):
    """A sink with metadata, which may be changed until it is closed."""

    meta: dict[str, Any]


class Scoped:
    """A part of a book: its entries stand below a scope, its metadata are its own."""

    def __init__(self, sink: Sink, scope: str) -> None:
        self._sink, self._scope = sink, scope
        self.meta: dict[str, Any] = {}

    def add(self, name: str, value: Any) -> None:
        """Append one entry below the scope."""
        self._sink.add(join(self._scope, name), value)


def put(sink: Sink, name: str, tree: Any) -> Any:
    """Write the arrays of a tree below ``name``; returns its structure as JSON.

    A single array is the entry ``name`` itself. Leaves that are no numbers are kept as None: a
    string or an object in an output is not compared either.
    """
    if tree is None:
        return None
    if isinstance(tree, Mapping):
        return {"map": {str(k): put(sink, join(name, str(k)), v) for k, v in tree.items()}}
    if isinstance(tree, (list, tuple)):
        kind = "list" if isinstance(tree, list) else "tuple"
        return {kind: [put(sink, join(name, str(i)), v) for i, v in enumerate(tree)]}
    if isinstance(tree, (np.ndarray, np.generic)):
        sink.add(name, tree)
        return {"at": name}
    return {"is": tree} if isinstance(tree, (bool, int, float)) else None


def get(trace: Trace, tree: Any) -> Any:
    """What :func:`put` wrote.

    Raises:
        InvalidInput: the structure is not one, or an entry that it names is missing.
    """
    if tree is None:
        return None
    if isinstance(tree, Mapping) and len(tree) == 1:
        ((kind, content),) = tree.items()
        if kind == "at" and content in trace:
            return np.array(trace[content])
        if kind == "is":
            return content
        if kind == "map":
            return {key: get(trace, value) for key, value in content.items()}
        if kind in ("list", "tuple"):
            items = [get(trace, value) for value in content]
            return items if kind == "list" else tuple(items)
    raise InvalidInput(f"this recording refers to {tree!r}, which it does not hold")


def below(name: str, count: int, index: int) -> str:
    """The entry of one of several arrays; of a single one the name itself."""
    return name if count == 1 else join(name, str(index))


def as_kept(tree: Any) -> Any:
    """A tree of numbers whose leaves are arrays, which keep their dtype in the file."""
    if isinstance(tree, Mapping):
        return {name: as_kept(value) for name, value in tree.items()}
    if isinstance(tree, (tuple, list)):
        items = [as_kept(value) for value in tree]
        return items if isinstance(tree, list) else tuple(items)
    return np.asarray(tree)


def as_action(tree: Any) -> Any:
    """What :func:`as_kept` was given: numbers are NumPy scalars, not arrays without axes."""
    if isinstance(tree, Mapping):
        return {name: as_action(value) for name, value in tree.items()}
    if isinstance(tree, (tuple, list)):
        items = [as_action(value) for value in tree]
        return items if isinstance(tree, list) else tuple(items)
    return tree[()]
