"""How two environments are set up: their wrappers, and the numbers that these hold."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from parity.debug.stepping import chain

Setting = tuple[str, str, Any, Any]
"""Class, attribute, torch's value, tf's value."""


def wrapper_names(environment: Any) -> list[str]:
    """Classes of the wrappers, from the outside in, without the bare environment."""
    return [type(e).__name__ for e in chain(environment)[:-1]]


def differences(torch: Any, tf: Any) -> list[dict[str, Any]]:
    """Wrappers and settings that differ, as data for the report."""
    found: list[dict[str, Any]] = []
    a, b = wrapper_names(torch), wrapper_names(tf)
    if a != b:
        shown = [", ".join(n) or "none" for n in (a, b)]
        found.append(
            {"layer": "environment", "name": "wrappers", "torch": shown[0], "tf": shown[1]}
        )
    for owner, name, left, right in settings(torch, tf):
        found.append({"layer": owner, "name": name, "torch": _shown(left), "tf": _shown(right)})
    return found


def _shown(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def settings(torch: Any, tf: Any) -> list[Setting]:
    """Numbers of paired wrappers, and of the bare environments, that differ."""
    return [
        (type(a).__name__, name, left, right)
        for a, b in paired(torch, tf)
        for name, left, right in _unequal(dict(numbers(a)), dict(numbers(b)))
    ]


def paired(torch: Any, tf: Any) -> list[tuple[Any, Any]]:
    """Wrappers of one class, each with its next of the other side; the bare environments."""
    left, right = chain(torch), chain(tf)
    found, rest = [], list(right[:-1])
    for a in left[:-1]:
        b = next((w for w in rest if type(w).__name__ == type(a).__name__), None)
        if b is not None:
            rest.remove(b)
            found.append((a, b))
    return [*found, (left[-1], right[-1])]


def _unequal(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name, value in left.items():
        if name in right and not np.array_equal(np.asarray(value), np.asarray(right[name])):
            yield name, value, right[name]


def numbers(owner: Any) -> Iterator[tuple[str, Any]]:
    """Numbers among an object's attributes, class constants, and small arrays of them."""
    held = dict(getattr(owner, "__dict__", {}))
    for kind in type(owner).__mro__[:-1]:
        for name, value in vars(kind).items():
            if not isinstance(value, (property, classmethod, staticmethod)) and not (
                inspect.isroutine(value)
            ):
                held.setdefault(name, value)
    for name, value in held.items():
        if name.startswith("__"):
            continue
        if isinstance(value, (bool, int, float, np.generic)) or (
            isinstance(value, np.ndarray) and value.size <= 64
        ):
            if np.asarray(value).dtype.kind in "biuf":
                yield name, value


def put(owner: Any, name: str, value: Any) -> None:
    """Set an attribute of one object, past any ``__setattr__``."""
    object.__setattr__(owner, name, value)
