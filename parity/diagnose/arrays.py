"""What relation two arrays have that were made of the same tensors: by code, or by a plain layer.

Both sides' arrays are looked at in torch's order of axes. For each, the way it was made of what is
known (outputs of earlier layers, the model's inputs) is searched for; two different ways that both
fit are the cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from parity.diagnose import activations
from parity.diagnose.activations import Named
from parity.diagnose.found import Found
from parity.diagnose.variants import distance


@dataclass(frozen=True)
class Source:
    """A tensor that both sides had before: ``label`` is the layer or input it came from."""

    label: str
    array: np.ndarray
    function: str = ""
    """Which activation made it, where a layer's class says so."""


@dataclass(frozen=True)
class Made:
    """A way in which an array was made: ``text`` reads as code."""

    text: str
    group: str
    source: str
    named: Named | None = None
    error: float = 0.0


def explain(
    sources: Sequence[Source], torch: Any, tf: Any, bound: float, *, before: float
) -> list[Found]:
    """Causes that fit, best first."""
    left, right = np.asarray(torch), np.asarray(tf)
    found: list[Found] = []
    for source in sources:
        a, b = _made(source, left, bound), _made(source, right, bound)
        if a is not None and b is not None and a.text != b.text:
            found.append(_between_two(a, b, source))
            break
    found += list(_direct(sources, left, right, bound))
    found += list(_scaled_inside(sources, left, right, bound))
    found += list(_gated(sources, left, right, bound))
    return sorted(found, key=lambda f: f.rank)


def _made(source: Source, y: np.ndarray, bound: float) -> Made | None:
    x = source.array
    named = activations.recognise(x, y, bound)
    if named is not None:
        return Made(named.text, "function", source.label, named, distance(named.function(x), y))
    twice = _twice(x, y, bound)
    if twice is not None:
        return Made(f"{twice.text} twice", "twice", source.label, twice)
    for text, group, array in _rearranged(source):
        if array.shape != y.shape:
            continue
        named = activations.recognise(array, y, bound)
        if named is not None:
            after = distance(named.function(array), y)
            plain = named.name == "identity"
            return Made(
                text if plain else f"{named.text} of {text}", group, source.label, None, after
            )
    return None


def _twice(x: np.ndarray, y: np.ndarray, bound: float) -> Named | None:
    if x.shape != y.shape:
        return None
    for named in activations.candidates(x.astype(np.float64), y.astype(np.float64)):
        with np.errstate(all="ignore"):
            made = named.function(named.function(x.astype(np.float64)))
        if made.shape == y.shape and distance(made, y) <= bound:
            return named
    return None


def _rearranged(source: Source) -> Iterator[tuple[str, str, np.ndarray]]:
    """Reductions, picks, flattenings and reversals of one tensor."""
    x = source.array
    for axis in range(1, x.ndim):
        size = x.shape[axis]
        yield f"reversed along axis {axis}", "reversed", np.flip(x, axis)
        if x.ndim > 2 and size > 1:
            yield f"the last of axis {axis}", "pick", np.take(x, -1, axis)
            yield f"the first of axis {axis}", "pick", np.take(x, 0, axis)
    axes_sets = [c for n in range(1, x.ndim) for c in combinations(range(1, x.ndim), n)]
    for axes in axes_sets[:20]:
        for name, function in (
            ("mean", np.mean),
            ("max", np.max),
            ("sum", np.sum),
            ("min", np.min),
        ):
            yield f"{name} over axes {list(axes)}", "reduce", function(x, axis=axes)
            if len(axes) == 1 or x.ndim > 2:
                kept = function(x, axis=axes, keepdims=True)
                yield f"{name} over axes {list(axes)}", "reduce", kept
    if x.ndim == 3 and x.shape[-1] % 2 == 0:
        half = x.shape[-1] // 2
        final = np.concatenate([x[:, -1, :half], x[:, 0, half:]], axis=-1)
        yield "the final states of both directions", "pick", final
    if x.ndim > 2:
        last = np.moveaxis(x, 1, -1)
        yield "flattened channels first", "flatten", x.reshape(len(x), -1)
        yield "flattened channels last", "flatten", last.reshape(len(x), -1)
        yield "transposed", "transpose", np.ascontiguousarray(np.swapaxes(x, 1, 2))
        yield "reshaped from channels last", "reshape", last.reshape(x.shape)
        yield "reshaped to channels last", "reshape", x.reshape(last.shape)
        yield "time and batch exchanged", "transpose", np.ascontiguousarray(np.swapaxes(x, 0, 1))
    yield "zeros", "zeros", np.zeros_like(x)


def _between_two(a: Made, b: Made, source: Source) -> Found:
    """The cause that two ways of making an array amount to."""
    facts = {"torch": a.text, "tf": b.text, "source": source.label}
    cause = "other-computation"
    if a.named is not None and b.named is not None and a.group == b.group == "function":
        cause = _functions(a.named, b.named)
        if cause == "activation-extra" and source.function == b.named.name:
            cause = "activation-doubled"
    elif b.group == "twice" and a.named is not None and b.named is not None:
        cause = "activation-doubled"
    elif a.group == "twice":
        cause = "activation-missing"
    elif a.group == b.group == "flatten":
        cause = "flatten-order"
    elif "reversed" in (a.group, b.group):
        cause = "reversed-time"
    elif a.group == b.group == "pick" or {a.group, b.group} == {"pick", "reduce"}:
        cause = "last-step"
    elif a.group == b.group == "reduce":
        same = a.text.split(" over")[0] == b.text.split(" over")[0]
        cause = "reduction-axis" if same else "pooling-kind"
    elif "reshape" in (a.group, b.group):
        cause = "reshape-not-transpose"
    elif "transpose" in (a.group, b.group):
        cause = "transposed"
    return Found(cause, a.error, facts, rank=0.5)


def _functions(a: Named, b: Named) -> str:
    if a.family == b.family == "normalisation":
        return "reduction-axis"
    if b.name == "identity" and a.family == "normalisation":
        return "missing-operation"
    if a.name == "identity" and b.family == "normalisation":
        return "extra-operation"
    if b.name == "identity":
        return "factor" if a.family == "factor" else "activation-missing"
    if a.name == "identity":
        return "factor" if b.family == "factor" else "activation-extra"
    if a.family == b.family == "softmax":
        return (
            "softmax-axis"
            if a.name.split(" over")[0] == b.name.split(" over")[0]
            else "activation-variant"
        )
    if a.family == b.family == "factor" or (a.name == b.name and a.name.startswith("factor")):
        return "factor"
    if a.name == b.name or {a.name, b.name} <= {"leaky_relu", "elu", "celu", "relu", "softplus"}:
        if a.name.split("_")[0] == b.name.split("_")[0] or {a.name, b.name} == {"elu", "celu"}:
            return "activation-slope"
    return "activation-variant"


def _direct(
    sources: Sequence[Source], left: np.ndarray, right: np.ndarray, bound: float
) -> Iterator[Found]:
    """Relations of the two arrays themselves."""
    if left.shape != right.shape or left.dtype.kind != "f":
        if left.ndim == 3 and right.ndim == 3 and distance(np.swapaxes(right, 0, 1), left) <= bound:
            yield Found("time-axis", 0.0, {}, rank=0.4)
        return
    for axis in range(left.ndim):
        flipped = distance(np.flip(right, axis), left)
        if flipped <= bound and axis:
            yield Found("reversed-time", flipped, {"axis": axis}, rank=0.6)
        for shift in range(1, min(left.shape[axis], 2049)):
            if distance(np.roll(right, shift, axis), left) <= bound:
                cause = "concat-order" if axis == left.ndim - 1 else "shift"
                yield Found(cause, 0.0, {"axis": axis, "shift": shift}, rank=0.6)
                break
    gap = left.astype(np.float64) - right.astype(np.float64)
    for source in sources:
        if source.array.shape == gap.shape:
            if distance(gap, source.array) <= bound:
                yield Found(
                    "residual-missing",
                    distance(gap, source.array),
                    {"source": source.label},
                    rank=0.55,
                )
            if distance(-gap, source.array) <= bound:
                yield Found(
                    "residual-extra",
                    distance(-gap, source.array),
                    {"source": source.label},
                    rank=0.55,
                )
    factor = activations.ratio(right, left)
    if factor is not None and distance(right * factor, left) <= bound:
        cause = "sign" if factor == -1 else "factor"
        yield Found(cause, distance(right * factor, left), {"factor": factor}, rank=0.8)
    constant = float(np.median(gap))
    if constant and distance(gap, np.full_like(gap, constant)) <= bound:
        yield Found("shift", 0.0, {"constant": constant}, rank=0.85)
    permuted = _columns(left, right, bound)
    if permuted is not None:
        yield Found("feature-order", 0.0, {"order": permuted}, rank=0.9)


def _columns(left: np.ndarray, right: np.ndarray, bound: float) -> list[int] | None:
    """The order in which tf's last axis would have to be read."""
    if left.ndim < 2 or left.shape[-1] > 512:
        return None
    a, b = left.reshape(-1, left.shape[-1]), right.reshape(-1, right.shape[-1])
    order: list[int] = []
    for column in a.T:
        near = np.abs(b - column[:, None]).max(axis=0)
        order.append(int(near.argmin()))
        if near.min() > bound:
            return None
    return order if sorted(order) == list(range(len(order))) else None


def _scaled_inside(
    sources: Sequence[Source], left: np.ndarray, right: np.ndarray, bound: float
) -> Iterator[Found]:
    """torch scales what a function returns, tf what it is given; or the other way round."""
    for source in sources:
        x = source.array.astype(np.float64)
        if x.shape != left.shape or x.shape != right.shape:
            continue
        for name, function in (("tanh", np.tanh), ("sigmoid", activations.sigmoid)):
            for outer, inner, way in ((left, right, "tf"), (right, left, "torch")):
                factor = activations.ratio(function(x), outer)
                if factor is None or factor == 1.0:
                    continue
                if distance(function(x * factor), inner) <= bound:
                    yield Found(
                        "scale-misplaced", distance(factor * function(x), outer),
                        {"function": name, "factor": factor, "inside": way}, rank=0.3,
                    )  # fmt: skip


def _gated(
    sources: Sequence[Source], left: np.ndarray, right: np.ndarray, bound: float
) -> Iterator[Found]:
    """One half of a tensor gates the other: which half?"""
    gates = ("identity", "sigmoid", "tanh", "relu", "gelu", "silu", "gelu by tanh")
    named = [(n, f) for n, _, f in activations.PLAIN if n in gates]
    for source in sources:
        x = source.array.astype(np.float64)
        if x.ndim < 2 or left.shape != right.shape or x.shape[-1] != 2 * left.shape[-1]:
            continue
        one, two = np.split(x, 2, axis=-1)
        for n, f in named:
            for m, g in named:
                if (
                    distance(f(one) * g(two), left) <= bound
                    and distance(f(two) * g(one), right) <= bound
                ):
                    yield Found(
                        "split-order", 0.0, {"source": source.label, "functions": [n, m]}, rank=0.3
                    )
                    return
