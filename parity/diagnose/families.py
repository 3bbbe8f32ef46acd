"""Families of functions that go by one name and differ by convention.

Where both sides make the entry that differs from one and the same value, by two members of one
family, the two conventions are the cause: median of an even number, standard deviation with or
without Bessel's correction, return-to-go against total return, clipped against raw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

Array = np.ndarray
Member = tuple[str, Callable[..., Any]]


@dataclass(frozen=True)
class Family:
    """Functions of one array; ``cause`` is the mistake of taking one for another."""

    cause: str
    members: Callable[[Array, Mapping[str, Any]], Iterator[Member]]


def _axes(x: Array) -> list[int | None]:
    return [None, *range(x.ndim)]


def _median(x: Array, _: Mapping[str, Any]) -> Iterator[Member]:
    def pick(which: str, axis: int | None) -> Callable[[Array], Array]:
        def function(a: Array) -> Array:
            s = np.sort(a.reshape(-1) if axis is None else a, axis=-1 if axis is None else axis)
            n = s.shape[-1 if axis is None else axis]
            low, high = (np.take(s, i, axis=-1 if axis is None else axis)
                         for i in ((n - 1) // 2, n // 2))  # fmt: skip
            return np.asarray({"lower": low, "upper": high, "mean": (low + high) / 2}[which])

        return function

    for axis in _axes(x):
        for which, text in (
            ("lower", "the lower middle value"),
            ("upper", "the upper middle value"),
            ("mean", "the mean of the middle two"),
        ):
            yield text, pick(which, axis)


def _spread(x: Array, _: Mapping[str, Any]) -> Iterator[Member]:
    axes: list[Any] = [None, *range(x.ndim), *combinations(range(x.ndim), 2)]
    for axis in axes:
        n = x.size if axis is None else int(np.prod([x.shape[a] for a in np.atleast_1d(axis)]))
        for ddof in (0, 1):
            if n - ddof <= 0:
                continue
            over = f"n - {ddof}" if ddof else "n"
            for keep in (False, True):
                yield (
                    f"divided by {over}",
                    lambda a, d=ddof, k=axis, e=keep: np.var(a, axis=k, ddof=d, keepdims=e),
                )
                yield (
                    f"root, divided by {over}",
                    lambda a, d=ddof, k=axis, e=keep: np.std(a, axis=k, ddof=d, keepdims=e),
                )


def _nested(x: Array, _: Mapping[str, Any]) -> Iterator[Member]:
    for axes in combinations(range(x.ndim), 2):
        for keep in (False, True):
            yield "over both axes at once", lambda a, k=axes, e=keep: np.var(a, axis=k, keepdims=e)
            for first, second in (axes, axes[::-1]):
                yield (
                    "one axis after the other",
                    lambda a, p=first, q=second, e=keep: _squeeze(
                        np.var(np.var(a, axis=p, keepdims=True), axis=q, keepdims=True), (p, q), e
                    ),
                )
                yield (
                    "the mean of the variances",
                    lambda a, p=first, q=second, e=keep: _squeeze(
                        np.mean(np.var(a, axis=p, keepdims=True), axis=q, keepdims=True), (p, q), e
                    ),
                )


def _squeeze(a: Array, axes: tuple[int, int], keep: bool) -> Array:
    return a if keep else np.squeeze(a, axis=axes)


def _clip(x: Array, facts: Mapping[str, Any]) -> Iterator[Member]:
    yield "as it is", lambda a: a
    bounds = [(-1.0, 1.0), (0.0, 1.0), *facts["bounds"]]
    for low, high in bounds:
        yield "clipped to its bounds", lambda a, lo=low, hi=high: np.clip(a, lo, hi)
    yield "squashed by tanh", np.tanh
    for low, high in facts.get("ranges", ()):
        said = f"[{low:g}, {high:g}]"
        yield f"clipped to {said}", lambda a, lo=low, hi=high: np.clip(a, lo, hi)
        yield (
            f"mapped to {said} by tanh",
            lambda a, lo=low, hi=high: lo + (np.tanh(a) + 1) * (hi - lo) / 2,
        )
        yield (
            f"mapped to {said} by a sigmoid",
            lambda a, lo=low, hi=high: lo + (hi - lo) / (1 + np.exp(-a)),
        )


def _scale(x: Array, facts: Mapping[str, Any]) -> Iterator[Member]:
    yield "as it is", lambda a: a
    for low, high in facts["input_bounds"]:
        if np.any(np.asarray(high) <= np.asarray(low)):
            continue
        yield (
            "mapped from its bounds to [-1, 1]",
            lambda a, lo=low, hi=high: 2 * (a - lo) / (hi - lo) - 1,
        )
        yield (
            "mapped from [-1, 1] to its bounds",
            lambda a, lo=low, hi=high: lo + (a + 1) * (hi - lo) / 2,
        )
        yield "mapped from its bounds to [0, 1]", lambda a, lo=low, hi=high: (a - lo) / (hi - lo)
        yield "mapped from [0, 1] to its bounds", lambda a, lo=low, hi=high: lo + a * (hi - lo)
        yield "times its upper bound", lambda a, hi=high: a * hi
        yield "times half the width of its bounds", lambda a, lo=low, hi=high: a * (hi - lo) / 2
        yield "clipped to its bounds", lambda a, lo=low, hi=high: np.clip(a, lo, hi)
    for number in (255.0, 127.5, 128.0):
        yield f"divided by {number:g}", lambda a, n=number: a / n
        yield f"divided by {number:g}, less 1", lambda a, n=number: a / n - 1


def _returns(x: Array, facts: Mapping[str, Any]) -> Iterator[Member]:
    for discount in (1.0, *facts["discounts"]):
        said = f" with discount {discount:g}" if discount != 1.0 else ", undiscounted"
        for axis in range(x.ndim):
            make = _reverse_sum(discount, axis)
            yield "return-to-go" + said, make
            yield (
                "the whole return at every step" + said,
                lambda a, f=make, k=axis: np.broadcast_to(
                    np.take(f(a), [0], axis=k), a.shape
                ).copy(),
            )
            yield "return-to-go from the next step on" + said, lambda a, f=make, k=axis: f(a) - a
            yield (
                "discounted from the start of the episode" + said,
                lambda a, g=discount, k=axis: np.flip(
                    np.cumsum(np.flip(a * _powers(g, a, k), k), k), k
                ),
            )
            if x.ndim == 2:
                for order, text in (("C", "row by row"), ("F", "column by column")):
                    yield (
                        f"return-to-go over the batch flattened {text}" + said,
                        (_flattened(discount, order)),
                    )
            yield (
                "summed forwards" + said,
                lambda a, g=discount, k=axis: np.flip(_reverse_sum(g, k)(np.flip(a, k)), k),
            )


def _powers(discount: float, a: Array, axis: int) -> Array:
    shape = [1] * a.ndim
    shape[axis] = a.shape[axis]
    return np.asarray(np.power(discount, np.arange(a.shape[axis])).reshape(shape))


def _reverse_sum(discount: float, axis: int) -> Callable[[Array], Array]:
    def function(a: Array) -> Array:
        moved = np.moveaxis(a.astype(np.float64), axis, 0)
        found, running = np.zeros_like(moved), np.zeros_like(moved[0])
        for t in reversed(range(len(moved))):
            running = moved[t] + discount * running
            found[t] = running
        return np.moveaxis(found, 0, axis)

    return function


def _flattened(discount: float, order: Any) -> Callable[[Array], Array]:
    def function(a: Array) -> Array:
        flat = _reverse_sum(discount, 0)(a.reshape(-1, order=order))
        return flat.reshape(a.shape, order=order)

    return function


def _rounding(x: Array, _: Mapping[str, Any]) -> Iterator[Member]:
    yield "down", np.floor
    yield "up", np.ceil
    yield "towards zero", np.trunc
    yield "to the nearest, halves to even", np.rint
    yield "to the nearest, halves away from zero", lambda a: np.sign(a) * np.floor(np.abs(a) + 0.5)


def _reductions(x: Array, _: Mapping[str, Any]) -> Iterator[Member]:
    for axis in _axes(x):
        for name, function in (
            ("sum", np.sum), ("mean", np.mean), ("maximum", np.max), ("minimum", np.min),
            ("product", np.prod), ("median", np.median),
        ):  # fmt: skip
            said = name if axis is None else f"{name} over axis {axis}"
            yield said, lambda a, f=function, k=axis: np.asarray(f(a, axis=k))
        if axis is not None:
            yield f"first along axis {axis}", lambda a, k=axis: np.take(a, 0, axis=k)
            yield f"last along axis {axis}", lambda a, k=axis: np.take(a, -1, axis=k)


def _norms(x: Array, _: Mapping[str, Any]) -> Iterator[Member]:
    for axis in _axes(x):
        yield "root of the sum of squares", lambda a, k=axis: np.sqrt(np.sum(a * a, axis=k))
        yield "sum of squares", lambda a, k=axis: np.sum(a * a, axis=k)
        yield "half the sum of squares", lambda a, k=axis: np.sum(a * a, axis=k) / 2
        yield "root of the mean of squares", lambda a, k=axis: np.sqrt(np.mean(a * a, axis=k))
        yield "sum of magnitudes", lambda a, k=axis: np.sum(np.abs(a), axis=k)
        yield "largest magnitude", lambda a, k=axis: np.max(np.abs(a), axis=k)


def _standardised(x: Array, facts: Mapping[str, Any]) -> Iterator[Member]:
    yield "as it is", lambda a: a
    axes = [None, *range(x.ndim)]
    for axis in axes:
        n = x.size if axis is None else x.shape[axis]
        over = "" if axis is None else f" along axis {axis}"
        yield "with its mean taken off" + over, lambda a, k=axis: a - a.mean(axis=k, keepdims=True)
        for ddof in (0, 1):
            if n - ddof < 1:
                continue
            for epsilon in (0.0, 1e-8, *facts["epsilons"]):
                yield (
                    f"standardised{over}, with n - {ddof}",
                    lambda a, k=axis, d=ddof, e=epsilon: (
                        (a - a.mean(axis=k, keepdims=True))
                        / (a.std(axis=k, ddof=d, keepdims=True) + e)
                    ),
                )
                yield (
                    f"divided by its deviation{over}, with n - {ddof}",
                    (
                        lambda a, k=axis, d=ddof, e=epsilon: (
                            a / (a.std(axis=k, ddof=d, keepdims=True) + e)
                        )
                    ),
                )
        yield (
            "scaled to [0, 1]" + over,
            lambda a, k=axis: (a - a.min(axis=k, keepdims=True)) / np.ptp(a, axis=k, keepdims=True),
        )


def _argument(x: Array, _: Mapping[str, Any]) -> Iterator[Member]:
    for axis in _axes(x):
        yield "the first of the largest", lambda a, k=axis: np.argmax(a, axis=k)
        if axis is not None:
            yield (
                "the last of the largest",
                lambda a, k=axis: a.shape[k] - 1 - np.argmax(np.flip(a, k), axis=k),
            )
        yield "the first of the smallest", lambda a, k=axis: np.argmin(a, axis=k)


def _ordering(x: Array, _: Mapping[str, Any]) -> Iterator[Member]:
    yield "as it is", lambda a: a
    for axis in range(x.ndim):
        yield f"reversed along axis {axis}", lambda a, k=axis: np.flip(a, k)
        yield f"sorted along axis {axis}", lambda a, k=axis: np.sort(a, axis=k)
        yield f"sorted downwards along axis {axis}", lambda a, k=axis: -np.sort(-a, axis=k)
        for step in (1, -1):
            yield f"rolled by {step} along axis {axis}", lambda a, k=axis, s=step: np.roll(a, s, k)
    if x.ndim == 2:
        yield "transposed", lambda a: a.T
    for first, second in combinations(range(x.ndim), 2):
        yield (
            f"axes {first} and {second} exchanged",
            lambda a, p=first, q=second: np.swapaxes(a, p, q),
        )


def _logarithms(x: Array, _: Mapping[str, Any]) -> Iterator[Member]:
    yield "as it is", lambda a: a
    yield from (
        ("exp", np.exp), ("log", np.log), ("log to base 2", np.log2), ("log to base 10", np.log10),
        ("log(1 + x)", np.log1p), ("exp(x) - 1", np.expm1), ("square", np.square),
        ("root", np.sqrt), ("magnitude", np.abs), ("sign", np.sign), ("negation", np.negative),
        ("1 - x", lambda a: 1 - a), ("1/x", lambda a: 1 / a),
        ("sigmoid", lambda a: 1 / (1 + np.exp(-a))), ("softplus", lambda a: np.logaddexp(0, a)),
        ("symlog", lambda a: np.sign(a) * np.log1p(np.abs(a))),
        ("degrees", np.degrees), ("radians", np.radians),
    )  # fmt: skip


def _activations(x: Array, _: Mapping[str, Any]) -> Iterator[Member]:
    from math import erf

    normal = np.vectorize(lambda v: 0.5 * (1 + erf(v / np.sqrt(2))))
    yield "as it is", lambda a: a
    yield "relu", lambda a: np.maximum(a, 0)
    yield "exact gelu", lambda a: a * normal(a) if a.size <= 4096 else a
    yield (
        "gelu by tanh",
        lambda a: 0.5 * a * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3))),
    )
    yield "gelu by sigmoid", lambda a: a / (1 + np.exp(-1.702 * a))
    yield "swish", lambda a: a / (1 + np.exp(-a))
    yield "sigmoid", lambda a: 1 / (1 + np.exp(-a))
    yield "tanh", np.tanh
    yield "softplus", lambda a: np.logaddexp(0, a)
    yield "hard sigmoid (relu6(x + 3) / 6)", lambda a: np.clip(a + 3, 0, 6) / 6
    yield "hard sigmoid (0.2 x + 0.5)", lambda a: np.clip(0.2 * a + 0.5, 0, 1)
    yield "hard swish", lambda a: a * np.clip(a + 3, 0, 6) / 6
    yield "softsign", lambda a: a / (1 + np.abs(a))
    yield "elu", lambda a: np.where(a > 0, a, np.expm1(np.minimum(a, 0)))
    yield (
        "selu",
        lambda a: (
            1.0507009873554805 * np.where(a > 0, a, 1.6732632423543772 * np.expm1(np.minimum(a, 0)))
        ),
    )
    yield "mish", lambda a: a * np.tanh(np.logaddexp(0, a))
    for slope in (0.01, 0.1, 0.2, 0.3, 0.25, 0.05):
        yield f"leaky relu with slope {slope:g}", lambda a, s=slope: np.where(a > 0, a, s * a)
    yield "relu6", lambda a: np.clip(a, 0, 6)


def _percentiles(x: Array, _: Mapping[str, Any]) -> Iterator[Member]:
    methods: list[Any] = ["linear", "lower", "higher", "nearest", "midpoint"]
    for axis in _axes(x)[:3]:
        for q in (10, 25, 75, 90):
            for method in methods:
                yield (
                    f"percentile {q}, {method}",
                    lambda a, k=axis, p=q, m=method: np.percentile(a, p, axis=k, method=m),
                )


FAMILIES: tuple[Family, ...] = (
    Family("median", _median),
    Family("nested-variance", _nested),
    Family("ddof", _spread),
    Family("total-return", _returns),
    Family("action-scale", _scale),
    Family("clipped-value", _clip),
    Family("rounding-mode", _rounding),
    Family("ties", _argument),
    Family("other-activation", _activations),
    Family("norm-kind", _norms),
    Family("reduction-axis", _reductions),
    Family("normalisation", _standardised),
    Family("element-order", _ordering),
    Family("other-function", _logarithms),
    Family("percentile", _percentiles),
)
