"""Elementwise functions by formula, to recognise what a layer or a line of code computes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Named:
    """A function with its name, its family (variants of one another) and its parameter."""

    name: str
    family: str
    function: Function
    parameter: float | None = None

    @property
    def text(self) -> str:
        return self.name if self.parameter is None else f"{self.name}({self.parameter:g})"


BETAS = (0.5, 1.5, 1.702, 2.0, 3.0, 5.0, 10.0, 20.0)
"""Steepnesses as people choose them; 1 is the plain function."""


def sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))


def _erf(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x))


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.logaddexp(0.0, x))


def _gelu(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * x * (1 + _erf(x / math.sqrt(2))))


def _gelu_tanh(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def _selu(x: np.ndarray) -> np.ndarray:
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    return np.asarray(scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))))


PLAIN: tuple[tuple[str, str, Function], ...] = (
    ("identity", "identity", lambda x: x),
    ("relu", "relu", lambda x: np.maximum(x, 0)),
    ("relu6", "relu", lambda x: np.clip(x, 0, 6)),
    ("tanh", "tanh", np.tanh),
    ("sigmoid", "sigmoid", sigmoid),
    ("log_sigmoid", "sigmoid", lambda x: -_softplus(-x)),
    ("hard_sigmoid", "sigmoid", lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    ("hard_sigmoid of Keras 2 (0.2 x + 0.5)", "sigmoid", lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    ("gelu", "gelu", _gelu),
    ("gelu by tanh", "gelu", _gelu_tanh),
    ("quick gelu", "gelu", lambda x: x * sigmoid(1.702 * x)),
    ("silu", "gelu", lambda x: x * sigmoid(x)),
    ("hard_silu", "gelu", lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    ("mish", "gelu", lambda x: x * np.tanh(_softplus(x))),
    ("softplus", "softplus", _softplus),
    ("softsign", "tanh", lambda x: x / (1 + np.abs(x))),
    ("elu", "relu", lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    ("selu", "relu", _selu),
    ("hard_tanh", "tanh", lambda x: np.clip(x, -1, 1)),
    ("exp", "exp", np.exp),
    ("log", "exp", np.log),
    ("square", "square", np.square),
    ("sqrt", "sqrt", np.sqrt),
    ("abs", "abs", np.abs),
    ("negation", "negation", np.negative),
    ("sin", "sin", np.sin),
    ("cos", "sin", np.cos),
    ("1 - x", "complement", lambda x: 1 - x),
    ("1 / x", "inverse", lambda x: 1 / x),
    ("exp(x) - 1", "exp", np.expm1),
    ("log(1 + x)", "exp", np.log1p),
)


def _softmax(axis: int) -> Function:
    def function(x: np.ndarray) -> np.ndarray:
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return np.asarray(e / e.sum(axis=axis, keepdims=True))

    return function


def candidates(x: np.ndarray, y: np.ndarray) -> Iterator[Named]:
    """Functions that may have made ``y`` of ``x``; those with a parameter fitted to the data."""
    for name, family, function in PLAIN:
        yield Named(name, family, function)
    for axis in range(1, x.ndim):
        yield Named(f"softmax over axis {axis}", "softmax", _softmax(axis))
        yield Named(f"log_softmax over axis {axis}", "softmax", _log_softmax(axis))
    yield Named("softmax over the batch", "softmax", _softmax(0))
    for axis in range(x.ndim):
        over = f"over axis {axis}" if axis else "over the batch"
        yield Named(f"L2 normalisation {over}", "normalisation", _to_unit_length(axis))
    yield Named("L2 normalisation over everything", "normalisation", _to_unit_length(None))
    yield from _fitted(x, y)


def _to_unit_length(axis: int | None) -> Function:
    """Divided by the norm, which both frameworks keep from being zero."""
    return lambda x: x / np.maximum(np.sqrt(np.sum(x * x, axis=axis, keepdims=True)), 1e-12)


def _log_softmax(axis: int) -> Function:
    return lambda x: np.log(_softmax(axis)(x))


def _fitted(x: np.ndarray, y: np.ndarray) -> Iterator[Named]:
    below, above = x < 0, x > 0
    slope = ratio(x[below], y[below])
    if slope is not None:
        yield Named("leaky_relu", "relu", lambda v: np.where(v > 0, v, slope * v), slope)
    alpha = ratio(np.expm1(x[below]), y[below])
    if alpha is not None:
        yield Named(
            "elu", "relu", lambda v: np.where(v > 0, v, alpha * np.expm1(np.minimum(v, 0))), alpha
        )
        yield Named(
            "celu",
            "relu",
            lambda v: np.where(v > 0, v, alpha * np.expm1(np.minimum(v, 0) / alpha)),
            alpha,
        )
    top = float(y.max(initial=0.0))
    if top > 0:
        yield Named("relu with a largest value", "relu", lambda v: np.clip(v, 0, top), top)
    for beta in BETAS:
        yield Named("softplus", "softplus", partial(_softplus_of, beta=beta), beta)
        yield Named("swish", "gelu", partial(_swish, beta=beta), beta)
    scale = ratio(x[below | above], y[below | above])
    if scale is not None:
        yield Named("factor", "factor", lambda v: scale * v, scale)
    for inner, function in (("tanh", np.tanh), ("sigmoid", sigmoid)):
        factor = ratio(function(x), y)
        if factor is not None:
            scaled = partial(_scaled, function=function, factor=factor)
            yield Named(f"factor times {inner}", inner, scaled, factor)


def _softplus_of(x: np.ndarray, beta: float) -> np.ndarray:
    return _softplus(beta * x) / beta


def _swish(x: np.ndarray, beta: float) -> np.ndarray:
    return np.asarray(x * sigmoid(beta * x))


def _scaled(x: np.ndarray, function: Function, factor: float) -> np.ndarray:
    return np.asarray(factor * function(x))


def ratio(x: np.ndarray, y: np.ndarray) -> float | None:
    """The one factor between two arrays; None where there is none."""
    use = np.abs(x) > 1e-6 * np.abs(x).max(initial=0.0)
    if not use.any() or x.shape != y.shape:
        return None
    with np.errstate(all="ignore"):
        ratios = y[use] / x[use]
    middle = float(np.median(ratios))
    if not math.isfinite(middle) or np.abs(ratios - middle).max() > 1e-5 * max(1.0, abs(middle)):
        return None
    return _simple(middle)


def _simple(value: float) -> float:
    """The decimal number that was probably meant."""
    for digits in range(1, 7):
        near = float(f"{value:.{digits}g}")
        if abs(near - value) <= 2e-7 * max(abs(value), 1e-3):
            return near
    return value


def recognise(x: Any, y: Any, bound: float) -> Named | None:
    """The function that made ``y`` of ``x`` to within a bound; None if it is none of these."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or not a.size:
        return None
    finite = np.isfinite(a).all() and np.isfinite(b).all()
    if not finite:
        return None
    for named in candidates(a, b):
        with np.errstate(all="ignore"):
            made = named.function(a)
        if made.shape == b.shape and np.abs(made - b).max() <= bound:
            return named
    return None
