"""Calls of the library's own functions: with which settings, and what they would give with others.

Only calls that the user's code makes are seen: the functions are replaced where users find them
(``keras.losses.huber``), not where the library keeps them.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from parity.debug.sites import Site, chain_of

_PLACES: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
    ("keras.losses", keras.losses, ()),
    ("keras.activations", keras.activations, ()),
    ("keras.ops", keras.ops, ()),
    ("keras.ops.nn", keras.ops.nn, ()) if hasattr(keras.ops, "nn") else ("", None, ()),
    ("tf.nn", tf.nn, ()),
    ("tf.image", tf.image, ()),
    ("tf.math", tf.math, ("l2_normalize", "cumsum", "cumprod", "top_k", "reduce_std")),
    ("tf", tf, ("pad", "sort", "argsort", "norm", "one_hot", "cumsum", "clip_by_norm",
                "clip_by_global_norm", "clip_by_value")),
)  # fmt: skip


@dataclass(frozen=True)
class LibraryCall:
    """One call: the function's public name, its settings, the user's place."""

    name: str
    settings: dict[str, Any]
    site: Site
    arguments: dict[str, Any]


@functools.cache
def _functions() -> tuple[tuple[str, Any, str, Any], ...]:
    """(public name, owner, attribute, function) of what is watched."""
    found = []
    for label, owner, names in _PLACES:
        for attribute in names or [n for n in dir(owner or object) if not n.startswith("_")]:
            function = getattr(owner, attribute, None)
            if not callable(function) or isinstance(function, type):
                continue
            try:
                parameters = inspect.signature(function).parameters.values()
            except (TypeError, ValueError):
                continue
            if any(p.default is not p.empty for p in parameters) or names:
                found.append((f"{label}.{attribute}", owner, attribute, function))
    return tuple(found)


def _simple(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


@contextmanager
def _replaced(replacements: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    undo = []
    try:
        for name, owner, attribute, _ in _functions():
            if name in replacements:
                # what stands there may be a replacement already
                undo.append((owner, attribute, getattr(owner, attribute)))
                setattr(owner, attribute, replacements[name])
        yield
    finally:
        for owner, attribute, function in reversed(undo):
            setattr(owner, attribute, function)


@contextmanager
def recorded() -> Iterator[list[LibraryCall]]:
    """A list that fills with the calls made inside."""
    calls: list[LibraryCall] = []

    def telling(name: str, function: Callable[..., Any], original: Any) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                given = dict(bound.arguments)
            except TypeError:  # the call itself will say so
                return function(*args, **kwargs)
            settings = {k: v for k, v in given.items() if _simple(v) and k != "name"}
            site = Site(name, chain_of(sys._getframe(1)))
            calls.append(LibraryCall(name, settings, site, given))
            return function(*args, **kwargs)

        return call

    with _replaced({n: telling(n, getattr(o, a), f) for n, o, a, f in _functions()}):
        yield calls


@contextmanager
def with_setting(name: str, setting: str, value: Any) -> Iterator[None]:
    """Every call of one function has another value for one of its parameters."""
    owner, attribute, original = next((o, a, f) for n, o, a, f in _functions() if n == name)
    function, signature = getattr(owner, attribute), inspect.signature(original)

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.arguments[setting] = value
        return function(*bound.args, **bound.kwargs)

    with _replaced({name: call}):
        yield


@contextmanager
def instead(name: str, replacement: Callable[..., Any]) -> Iterator[None]:
    """One function replaced by another."""
    with _replaced({name: replacement}):
        yield
