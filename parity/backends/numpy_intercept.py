"""Arrays that tell a recorder of every NumPy operation on them.

A function that takes arrays often computes on them before a framework sees anything. Given arrays
of this kind instead of plain ones, those operations are recorded, and can be changed, like the
framework's own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

import numpy as np

#: Names under which the operations are recorded: those of TensorFlow, where it has the same.
NAMES = {
    "add": "AddV2", "subtract": "Sub", "multiply": "Mul", "true_divide": "RealDiv",
    "divide": "RealDiv", "power": "Pow", "maximum": "Maximum", "minimum": "Minimum", "exp": "Exp",
    "log": "Log", "log1p": "Log1p", "sqrt": "Sqrt", "square": "Square", "negative": "Neg",
    "absolute": "Abs", "sign": "Sign", "floor": "Floor", "ceil": "Ceil", "rint": "Rint",
    "remainder": "FloorMod", "fmod": "TruncateMod", "floor_divide": "FloorDiv", "tanh": "Tanh",
    "matmul": "MatMul", "greater": "Greater", "greater_equal": "GreaterEqual", "less": "Less",
    "less_equal": "LessEqual", "equal": "Equal", "not_equal": "NotEqual",
    "logical_and": "LogicalAnd", "logical_or": "LogicalOr", "float_power": "Pow",
}  # fmt: skip
_REDUCED = {"add": "Sum", "maximum": "Max", "minimum": "Min", "multiply": "Prod"}
_FUNCTIONS = {"clip": "ClipByValue", "where": "SelectV2", "concatenate": "ConcatV2",
              "stack": "Pack", "cumsum": "Cumsum", "median": "Median"}  # fmt: skip
_BACK = {name: function for function, name in reversed(NAMES.items())}


class Listener(Protocol):
    """Who is told."""

    def numpy_call(
        self, op: str, inputs: list[Any], run: Callable[..., Any], frame: FrameType
    ) -> Any: ...


_listeners: list[Listener] = []


class Traced(np.ndarray):
    """An array whose operations are recorded while a listener is installed."""

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any
    ) -> Any:
        plain = [_plain(x) for x in inputs]
        targets = tuple(_plain(x) for x in out) if out is not None else None

        def run(given: Sequence[Any] | None = None, op: str | None = None) -> Any:
            function = ufunc if op is None else getattr(np, _BACK[op])
            values = plain if given is None else [_plain(x) for x in given]
            return getattr(function, method)(*values, **kwargs)

        names = NAMES if method == "__call__" else _REDUCED
        op = names.get(ufunc.__name__, f"np.{ufunc.__name__}")
        # the arrays themselves, not views: what was made from what is known by identity
        result = _told(op, list(inputs), run, sys._getframe(1))
        if targets is not None:
            for target, value in zip(targets, result if ufunc.nout > 1 else [result], strict=True):
                target[...] = value
            return out[0] if len(out) == 1 else out
        return result

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        plain = [_deep(x) for x in args]
        named = {k: _deep(v) for k, v in kwargs.items()}

        def run(given: Sequence[Any] | None = None, op: str | None = None) -> Any:
            return func(*(plain if given is None else [_deep(x) for x in given]), **named)

        op = _FUNCTIONS.get(func.__name__, f"np.{func.__name__}")
        return _told(op, list(args), run, sys._getframe(1))


def _told(op: str, inputs: list[Any], run: Callable[..., Any], frame: FrameType) -> Any:
    result = _listeners[-1].numpy_call(op, inputs, run, frame) if _listeners else run()
    return _wrapped(result)


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Traced) else value


def _deep(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_deep(v) for v in value)
    return _plain(value)


def _wrapped(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_wrapped(v) for v in value)
    if isinstance(value, np.ndarray) and value.ndim and not isinstance(value, Traced):
        return value.view(Traced)
    return value


def traced(array: np.ndarray) -> Any:
    """A copy whose operations are told to the listener."""
    return np.array(array).view(Traced) if np.ndim(array) else array


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell ``listener`` of the operations inside."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.pop()
