"""Masks that the tf side could use: inputs, pairs and rows of them, values on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from parity.diagnose.bench import Bench

Source = Callable[[Any], Any]


def binary_values(bench: Bench) -> Iterator[tuple[str, tuple[int, ...], Source]]:
    """Arrays of zeros and ones: inputs, pairs of them, and values made on the way."""
    from parity.backends import tf_edits as edits

    inputs = {n: np.asarray(a) for n, a in bench.inputs["tf"].items() if is_binary(np.asarray(a))}
    for name, array in bench.inputs["tf"].items():
        held = np.asarray(array)
        if held.dtype.kind in "iu" and held.size > 1 and not is_binary(held):
            for number in (0, -1, -100, int(held.max())):
                if np.any(held == number) and not np.all(held == number):
                    inputs[f"{name} == {number}"] = (held == number).astype(np.int64)
    for name, array in inputs.items():
        yield name, array.shape, _held(bench, name)
        if array.ndim and len(array) > 1:
            for reverse in (False, True):
                label = f"{name}[t]" + (" from the end" if reverse else "")
                yield label, array.shape[1:], _row(bench, name, len(array), reverse)
    for a, x in inputs.items():
        for b, y in inputs.items():
            if a < b and x.shape == y.shape:
                yield f"{a} or {b}", x.shape, _pair(bench, a, b, np.maximum)
            if a != b and x.shape == y.shape:
                yield f"{a} and not {b}", x.shape, _pair(bench, a, b, lambda p, q: p * (1 - q))
    for site, values in bench.sites.items():
        arrays = [v.array for v in values]
        if site.op in ("Identity", "ReadVariableOp") or any(a.ndim == 0 for a in arrays[:1]):
            if not (arrays and arrays[0].ndim == 0 and len(arrays) > 1):
                continue
        if (
            all(set(np.unique(a)) <= {0, 1} for a in arrays)
            and len({float(x) for a in arrays for x in np.unique(a)}) == 2
        ):
            ones = np.ones_like(arrays[0])
            yield site.source or site.op, arrays[0].shape, edits.latest_or(site, ones)


def is_binary(array: np.ndarray) -> bool:
    return array.dtype.kind in "fiub" and array.size > 1 and set(np.unique(array)) == {0, 1}


def _held(bench: Bench, label: str) -> Source:
    """An input of the run, or where it equals a number."""
    name, equals, number = label.partition(" == ")

    def value(call: Any) -> Any:
        held = bench.callers["tf"].current[name]
        return (np.asarray(held) == int(number)).astype(np.int64) if equals else held

    return value


def _row(bench: Bench, label: str, length: int, reverse: bool) -> Source:
    """The row of an input that belongs to the turn of the loop."""
    whole = _held(bench, label)

    def value(call: Any) -> Any:
        if call.occurrence >= length:
            raise IndexError("no loop over this axis")
        return whole(call)[length - 1 - call.occurrence if reverse else call.occurrence]

    return value


def _pair(bench: Bench, a: str, b: str, join: Callable[[Any, Any], Any]) -> Source:
    left, right = _held(bench, a), _held(bench, b)
    return lambda call: join(
        np.asarray(left(call), dtype=np.float64), np.asarray(right(call), dtype=np.float64)
    )


def fits(mask: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    if len(mask) > len(shape):
        return False
    return all(m in (1, s) for m, s in zip(mask[::-1], shape[::-1], strict=False)) or (
        mask == shape[: len(mask)]
    )


def shifted_by(fill: float, step: int) -> Callable[[Any], Any]:
    import tensorflow as tf

    def function(mask: Any) -> Any:
        edge = tf.fill(tf.shape(mask[:1]), tf.cast(fill, mask.dtype))
        return tf.concat([edge, mask[:-1]] if step > 0 else [mask[1:], edge], 0)

    return function


def _cumulated(exclusive: bool) -> Callable[[Any], Any]:
    import tensorflow as tf

    return lambda mask: tf.math.cumprod(mask, 0, exclusive=exclusive)


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "mask": lambda m: m,
    "inverse": lambda m: 1 - m,
    "mask, one step later": lambda m: shifted_by(1.0, 1)(m),
    "mask, one step earlier": lambda m: shifted_by(1.0, -1)(m),
    "inverse, one step later": lambda m: shifted_by(1.0, 1)(1 - m),
    "inverse, one step earlier": lambda m: shifted_by(1.0, -1)(1 - m),
    "cumulative": lambda m: _cumulated(False)(m),
    "cumulative inverse": lambda m: _cumulated(False)(1 - m),
    "cumulative, up to the step before": lambda m: _cumulated(True)(m),
    "cumulative inverse, up to the step before": lambda m: _cumulated(True)(1 - m),
}


def masked(source: Source, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Multiply what an operation returns by a function of a mask, with axes added to fit."""
    import tensorflow as tf

    def change(call: Any) -> Any:
        value = call.run()
        mask = function(tf.cast(source(call), value.dtype))
        while mask.shape.rank < value.shape.rank and mask.shape[-1] != value.shape[-1]:
            mask = mask[..., None]
        if np.isfinite(np.asarray(value)).all():
            return value * mask
        return tf.where(mask == 0, tf.zeros_like(value), value * mask)

    return change
