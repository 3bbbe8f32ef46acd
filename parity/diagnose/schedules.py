"""Schedules by their shape: what a rate, an epsilon or a temperature is made of a step number.

Both sides' values over the steps are matched with the shapes that people write (linear,
exponential, cosine, ...), with the numbers that stand in the code. Two shapes are the cause.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Direct
from parity.diagnose.known_numbers import tf_constants, torch_numbers
from parity.diagnose.operand_constants import scalar_operands
from parity.tolerance import explained_bound

_MOST_NUMBERS = 9
_FEWEST = 3
"""Different values that a series must have: of fewer, several shapes make the same."""


@dataclass(frozen=True)
class Shape:
    """A kind of schedule, in words with its numbers, and its value at each step."""

    kind: str
    text: str
    values: np.ndarray


def shapes(bench: Bench) -> Iterator[Direct]:
    """The entry that differs is one schedule of a step number in torch, and another here."""
    name = bench.first
    if name is None or name not in bench.tf:
        return
    torch, tf = bench.torch[name], bench.tf[name]
    if torch.shape != tf.shape or torch.dtype.kind != "f" or torch.size > 4096:
        return
    numbers = _numbers(bench)
    for label, given in bench.inputs["tf"].items():
        steps = np.asarray(given)
        if steps.shape != torch.shape or steps.dtype.kind not in "fiu" or np.any(steps < 0):
            continue
        a = recognise(steps, torch, numbers, bench.bound_dtype)
        b = recognise(steps, tf, numbers, bench.bound_dtype) if a is not None else None
        if a is None or b is None or a.kind == b.kind:
            continue  # other numbers in one shape are read from the code
        after = float(np.abs(a.values - torch.astype(np.float64)).max())
        facts = {"steps": label, "torch": a.text, "tf": b.text}
        yield Direct("schedule-shape", facts, after, 0.45)


def _numbers(bench: Bench) -> list[float]:
    """Numbers of both sides' code, the named ones first."""
    found = [v for _, v in torch_numbers(bench)]
    found += [float(c.value) for c in tf_constants(bench) if not isinstance(c.value, bool)]
    found += [value for _, _, value in scalar_operands(bench)]
    return [v for v in dict.fromkeys(found) if v > 0 and v not in (1.0, 2.0, 0.5)]


def recognise(
    steps: np.ndarray, values: np.ndarray, numbers: Sequence[float], dtype: str
) -> Shape | None:
    """The shape that makes these values; None where none does, or where they say too little.

    Args:
        numbers: what may be its rates, ends and durations.
    """
    t, y = steps.astype(np.float64).reshape(-1), values.astype(np.float64).reshape(-1)
    if not np.isfinite(y).all() or np.unique(y).size < _FEWEST:
        return None
    bound = explained_bound(dtype, float(np.abs(y).max()))
    for shape in _candidates(t, [*numbers[:_MOST_NUMBERS], 1.0, 0.0, 0.5, 2.0, float(y.max())]):
        if shape.values.shape == y.shape and np.abs(shape.values - y).max() <= bound:
            return Shape(shape.kind, shape.text, shape.values.reshape(values.shape))
    return None


def _candidates(t: np.ndarray, numbers: Sequence[float]) -> Iterator[Shape]:
    values = list(dict.fromkeys(numbers))
    for length in (n for n in values if n >= 2.0):
        share, cut = t / length, np.minimum(t / length, 1.0)
        for start, end in permutations([v for v in values if v != length], 2):
            for share_, over in ((cut, f"over {length:g} steps"), (share, f"per {length:g} steps")):
                said = f"from {start:g} to {end:g} {over}"
                for kind, curve in _CURVES:
                    made = curve(start, end, share_)
                    if made is not None:
                        yield Shape(kind, f"{kind} {said}", made)
    yield from _rates(t, values)


def _rates(t: np.ndarray, values: Sequence[float]) -> Iterator[Shape]:
    """Shapes given by a rate: a power of it at each step, an inverse, with a floor or without."""
    for rate in (v for v in values if 0.0 < v < 1.0):
        powers = rate**t
        for start in (v for v in values if v != rate and v > 0):
            said = f"{start:g} times {rate:g} at each step"
            yield Shape("exponential", f"exponential: {said}", start * powers)
            yield Shape("inverse", f"inverse: {start:g} / (1 + {rate:g} t)", start / (1 + rate * t))
            yield Shape("linear", f"linear: {start:g} less {rate:g} a step", start - rate * t)
            for floor in (v for v in values if v < start):
                least = f", not below {floor:g}"
                yield Shape("exponential", f"exponential: {said}{least}",
                            np.maximum(start * powers, floor))  # fmt: skip
                yield Shape("linear", f"linear: {start:g} less {rate:g} a step{least}",
                            np.maximum(start - rate * t, floor))  # fmt: skip


Curve = Callable[[float, float, np.ndarray], "np.ndarray | None"]


def _power(start: float, end: float, x: np.ndarray) -> np.ndarray | None:
    return np.asarray(start * (end / start) ** x) if start > 0 and end > 0 else None


def _floored(start: float, end: float, x: np.ndarray) -> np.ndarray | None:
    return np.asarray(np.maximum(start * np.exp(-x), end))


_CURVES: tuple[tuple[str, Curve], ...] = (
    ("linear", lambda a, b, x: a + (b - a) * x),
    ("exponential", _power),
    ("exponential towards its end", lambda a, b, x: b + (a - b) * np.exp(-x)),
    ("exponential with a floor", _floored),
    ("cosine", lambda a, b, x: b + (a - b) * (1 + np.cos(math.pi * x)) / 2),
    ("quadratic", lambda a, b, x: b + (a - b) * (1 - x) ** 2),
    ("root", lambda a, b, x: b + (a - b) * np.sqrt(np.maximum(1 - x, 0))),
    ("sigmoid", lambda a, b, x: b + (a - b) / (1 + np.exp(10 * (x - 0.5)))),
)
