"""Hypotheses about weights of classes: more for the positive targets, a weight for each label."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.known_numbers import close, torch_numbers
from parity.diagnose.mask_values import is_binary
from parity.diagnose.numbers import same

_MOST_SITES = 8
_MOST_CLASSES = 1000
_MOST_ROWS = 6
_FITS = 1e-5
"""Share of a difference that weights, which are read as decimals, may leave."""

Weights = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class _Target:
    """Targets of zeros and ones: how they are read in a run, and as they are in this one."""

    name: str
    array: np.ndarray
    read: Callable[[Any], Any]


@dataclass(frozen=True)
class _Place:
    """What is weighted: an operand of an operation, or what it makes."""

    site: Site
    operand: int | None = None


def class_weights(bench: Bench) -> Iterator[Hypothesis]:
    """What is summed is weighted by its target's class on the torch side, or by other weights."""
    for target in _targets(bench):
        for place in _sites(bench, target.array.shape):
            yield from _by_column(bench, place, target)
            yield from _solved(bench, place, target)
    yield from _by_label(bench)


def _targets(bench: Bench) -> Iterator[_Target]:
    """Inputs of zeros and ones, and one-hot forms of them made on the way."""
    from parity.backends import tf_edits as edits

    for name, given in bench.inputs["tf"].items():
        array = np.asarray(given)
        if is_binary(array):
            yield _Target(name, array, bench.input(name))
    for site, values in bench.sites.items():
        array = values[0].array
        if site.op == "OneHot" and len(values) == 1 and array.dtype.kind == "f":
            yield _Target(site.source or site.op, array, edits.latest(site))


def _sites(bench: Bench, shape: tuple[int, ...]) -> list[_Place]:
    """Reductions of one value for each target, then the places that make such values."""
    from parity.backends import tf_edits as edits

    reduced, made = [], []
    for site, values in bench.sites.items():
        call = values[0].call
        if call is None or len({id(v.call) for v in values}) != 1:
            continue
        given = edits.array(call.inputs[0]) if site.op in ("Mean", "Sum") else None
        if given is not None and given.shape == shape and given.dtype.kind == "f":
            reduced.append(_Place(site, 0))
        array = values[0].array
        if len(values) == 1 and array.shape == shape and array.dtype.kind == "f":
            if site.op not in ("Fill", "ReadVariableOp", "OneHot", "Cast", "Identity"):
                made.append(_Place(site))
    return [*reduced[::-1], *made[::-1]][:_MOST_SITES]


def _solved(bench: Bench, place: _Place, target: _Target) -> Iterator[Hypothesis]:
    """Weights of the ones and of the zeros, solved for from all that differs."""
    names = [n for n in bench.torch if n != f"grad/{target.name}"]
    r0 = _residual(bench, Change(), names)
    trials = [_weighted(place, target, w) for w in (_doubled_ones, _doubled_zeros)]
    columns = [_residual(bench, trial, names) for trial in trials]
    if r0 is None or any(c is None or c.shape != r0.shape for c in columns):
        return
    moved = np.stack([c - r0 for c in columns if c is not None], 1)
    if not moved.all(axis=1).any() and not _reduces(bench):
        return  # zeros where the target is zero, as a mask makes them: one factor of all the rest
    found = _least(moved, r0)
    if found is None:
        return
    ones, zeros = (_readable(bench, 1.0 + x) for x in found)
    if ones is None or zeros is None or same(ones, zeros):
        return
    facts = {"target": target.name, "ones": ones, "zeros": zeros}
    change = _weighted(place, target, lambda y: y * ones + (1 - y) * zeros)
    yield Hypothesis("class-weight", change, facts, place.site, 0.95, values_only=True)


def _reduces(bench: Bench) -> bool:
    return any(site.op in ("Mean", "Sum") for site in bench.sites)


def _least(moved: np.ndarray, r0: np.ndarray) -> tuple[float, float] | None:
    """The two steps that remove a difference; where one number is all there is, only the first."""
    size = float(np.abs(r0).max(initial=0.0))
    if size == 0.0:
        return None
    if np.linalg.matrix_rank(moved, tol=1e-9 * float(np.abs(moved).max(initial=0.0) or 1.0)) < 2:
        power = float(moved[:, 0] @ moved[:, 0])
        steps = np.array([-float(moved[:, 0] @ r0) / power if power else 0.0, 0.0])
    else:
        steps = np.linalg.lstsq(moved, -r0, rcond=None)[0]
    if np.abs(moved @ steps + r0).max() > _FITS * size:
        return None
    return float(steps[0]), float(steps[1])


def _readable(bench: Bench, value: float) -> float | None:
    """The number as somebody wrote it; None where it is none that anybody would write."""
    options = [1.0, *(v for _, v in torch_numbers(bench)), *torch_arrays(bench, 0)]
    options += [1.0 - v for v in options if 0 < v < 1] + [1.0 / v for v in options if v]
    options += [float(f"{value:.{digits}g}") for digits in (1, 2, 3)]
    return next((float(v) for v in options if same(value, float(v), 10 * close(bench))), None)


def torch_arrays(bench: Bench, axes: int) -> list[Any]:
    """Numbers (axes 0) or rows of numbers (axes 1) that the torch side's code holds as tensors."""
    arrays = [v.array for v in bench.theirs if v.op == "lift_fresh"]
    for value in bench.theirs:
        arrays += getattr(value.call, "held", ())
    given = [np.asarray(a) for a in bench.inputs["tf"].values()]
    found: dict[bytes, np.ndarray] = {}
    for array in arrays:
        if array.ndim != axes and not (axes == 0 and array.size == 1) or array.dtype.kind != "f":
            continue
        if not any(g.shape == array.shape and np.allclose(g, array) for g in given):
            wide = array.astype(np.float64)
            found.setdefault(wide.tobytes(), wide)
    return [float(a.reshape(-1)[0]) if axes == 0 else a for a in found.values()][:_MOST_ROWS]


def _by_column(bench: Bench, place: _Place, target: _Target) -> Iterator[Hypothesis]:
    """A weight for each column, which torch holds as one array."""
    for row in torch_arrays(bench, 1):
        if target.array.ndim != 2 or row.size != target.array.shape[1]:
            continue
        facts = {"target": target.name, "weights": said_row(row)}
        change = _weighted(place, target, _per_column(row))
        yield Hypothesis("class-weight", change, facts, place.site, 0.9, values_only=True)


def _per_column(row: np.ndarray) -> Weights:
    return lambda y: np.asarray(y * row + (1 - y))


def _by_label(bench: Bench) -> Iterator[Hypothesis]:
    """A weight for each label; the weighted values summed as they are, or over their weights."""
    for name, given in bench.inputs["tf"].items():
        labels = np.asarray(given)
        if labels.dtype.kind not in "iu" or labels.size < 2 or not 0 < labels.max() < _MOST_CLASSES:
            continue
        for row in torch_arrays(bench, 1):
            if labels.min() < 0 or row.size <= labels.max():
                continue
            target = _Target(name, labels, bench.input(name))
            for place in _sites(bench, labels.shape):
                yield from _labelled(place, target, row)


def _labelled(place: _Place, target: _Target, row: np.ndarray) -> Iterator[Hypothesis]:
    def over(labels: np.ndarray) -> np.ndarray:
        chosen = row[labels]
        return np.asarray(chosen / chosen.mean())

    for weights, said in (
        (lambda labels: row[labels], "their number"),
        (over, "the sum of the weights"),
    ):
        facts = {"target": target.name, "weights": said_row(row), "over": said}
        yield Hypothesis("class-weight", _weighted(place, target, weights), facts, place.site, 0.9,
                         values_only=True)  # fmt: skip


def _weighted(place: _Place, target: _Target, weights: Weights) -> Change:
    """Multiply what a place makes by a weight that depends on the target there."""
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    def weighted(call: Any, value: Any) -> Any:
        held = edits.array(edits.tensor(target.read(call)))
        return value * tf.constant(weights(np.asarray(held)), value.dtype)

    def change(call: Any) -> Any:
        if place.operand is None:
            return weighted(call, call.run())
        inputs = list(call.inputs)
        inputs[place.operand] = weighted(call, edits.tensor(inputs[place.operand]))
        return call.run(inputs)

    return Change((edits.at(place.site, change),))


def _doubled_ones(y: np.ndarray) -> np.ndarray:
    return 1.0 + y.astype(np.float64)


def _doubled_zeros(y: np.ndarray) -> np.ndarray:
    return 2.0 - y.astype(np.float64)


def _residual(bench: Bench, change: Change, names: Sequence[str]) -> np.ndarray | None:
    trace = bench.traced(change)
    return None if trace is None else bench.residual(trace, names)


def said_row(row: np.ndarray) -> str:
    shown = ", ".join(f"{x:.4g}" for x in row[:6])
    return f"[{shown}{', ...' if row.size > 6 else ''}]"
