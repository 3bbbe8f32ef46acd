"""Names of entries: paths, made from nested structures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

SEPARATOR = "/"


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
