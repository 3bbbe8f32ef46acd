"""Hypotheses about whole pieces of a computation: a missing term or factor, two operations in the
other order, and, where nothing smaller fits, the place at which torch computes something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from parity.debug.intermediates import Value
from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.known_numbers import torch_numbers
from parity.diagnose.suspects import calls, floating, suspects_first
from parity.tolerance import explained_bound

_LARGEST = 20_000
_MOST_PAIRS = 400
_SILENT = ("Fill", "ReadVariableOp", "Cast", "Shape")


def combined(bench: Bench) -> Iterator[Hypothesis]:
    """A value of torch's that is one of tf's plus, minus, times or over another."""
    sites = [s for s in suspects_first(bench) if floating(bench, s) and s.op not in _SILENT]
    given = {n: np.asarray(a) for n, a in bench.inputs["tf"].items()}
    numbers = [v for n, v in torch_numbers(bench) if v not in (0.0, 1.0)]
    seen: set[Any] = set()
    for wanted in _unmatched(bench):
        for site in sites:
            held = bench.sites[site][0].array
            if held.shape != wanted.array.shape or held.size > _LARGEST or held.size < 2:
                continue
            for label, source, other in _others(bench, site, given, held):
                for form, factor in _forms(bench, wanted.array, held, other, numbers):
                    key = (site, label, form, round(factor, 9))
                    if key not in seen:
                        seen.add(key)
                        mask = other.size > 1 and set(np.unique(other)) <= {0.0, 1.0}
                        yield _combination(site, label, source, form, factor, wanted, mask)


def _unmatched(bench: Bench) -> list[Value]:
    return [v for v in bench.theirs
            if v.partner is None and v.op != "input" and not v.backward
            and v.array.dtype.kind == "f"][:_MOST_PAIRS]  # fmt: skip


def _others(
    bench: Bench, site: Site, given: dict[str, np.ndarray], held: np.ndarray
) -> Iterator[tuple[str, Callable[[Any], Any], np.ndarray]]:
    from parity.backends import tf_edits as edits

    for name, array in given.items():
        if array.shape == held.shape and array.dtype.kind == "f":
            yield name, bench.input(name), array
    order = list(bench.sites)
    for source in order[: order.index(site)]:
        values = bench.sites[source]
        if source.op in _SILENT or values[0].array.shape != held.shape:
            continue
        if values[0].array.dtype.kind == "f" and len(values) == len(bench.sites[site]):
            yield source.source or source.op, edits.latest(source), values[0].array


def _forms(
    bench: Bench, wanted: np.ndarray, held: np.ndarray, other: np.ndarray, numbers: list[float]
) -> Iterator[tuple[str, float]]:
    """How torch's value follows from the two: (form, coefficient)."""
    w, h, o = (x.astype(np.float64) for x in (wanted, held, other))
    bound = explained_bound(bench.bound_dtype, float(np.abs(w).max(initial=0.0)))
    with np.errstate(all="ignore"):
        for form, value in (("plus", h + o), ("minus", h - o), ("times", h * o), ("over", h / o)):
            if np.isfinite(value).all() and np.abs(value - w).max() <= bound:
                yield form, 1.0
        norm = float(np.sum(o * o))
        if norm:
            factor = float(np.sum((w - h) * o) / norm)
            if abs(factor) not in (0.0, 1.0) and np.abs(h + factor * o - w).max() <= bound:
                if any(abs(abs(factor) - abs(n)) <= 1e-6 * abs(n) for n in numbers):
                    yield "plus", factor


def _combination(
    site: Site,
    label: str,
    source: Callable[[Any], Any],
    form: str,
    factor: float,
    wanted: Value,
    mask: bool,
) -> Hypothesis:
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    def change(call: Any) -> Any:
        value = call.run()
        other = tf.cast(source(call), value.dtype) * edits.constant_like(factor, value)
        return {
            "plus": lambda: value + other,
            "minus": lambda: value - other,
            "times": lambda: value * other,
            "over": lambda: value / other,
        }[form]()

    cause = "missing-term" if form in ("plus", "minus") else "missing-factor"
    facts = {"form": form, "other": label, "coefficient": factor,
             "torch_line": f"{wanted.place}: {wanted.source}"}  # fmt: skip
    if mask and form == "times":
        cause, facts = "mask-missing", {"mask": label, "form": "mask"}
    return Hypothesis(cause, Change((edits.at(site, change),)), facts, site, 1.1)


def reordered(bench: Bench) -> Iterator[Hypothesis]:
    """Two operations in a row applied in the other order: the square of the mean, ..."""
    from parity.backends import tf_edits as edits

    for inner in suspects_first(bench):
        first = next(iter(calls(bench, inner)), None)
        if first is None or not floating(bench, inner) or inner.op in _SILENT:
            continue
        for outer in bench.sites:
            second = next(iter(calls(bench, outer)), None)
            if second is None or outer is inner or not floating(bench, outer):
                continue
            at = [i for i, x in enumerate(second.call.inputs) if x is first.call.output]
            if len(at) != 1 or outer.op in _SILENT:
                continue
            for index, given in enumerate(first.call.inputs[:2]):
                array = edits.array(given)
                if array is None or array.dtype.kind != "f" or array.ndim == 0:
                    continue
                yield _exchange(bench, inner, outer, index)


def _exchange(bench: Bench, inner: Site, outer: Site, index: int) -> Hypothesis:
    from parity.backends import tf_edits as edits

    waiting: list[Any] = []

    def skip(call: Any) -> Any:
        waiting[:] = [call]
        return edits.tensor(call.inputs[index])

    def both(call: Any) -> Any:
        value = call.run()
        if not waiting:
            return value
        inputs = list(waiting[0].inputs)
        inputs[index] = value
        return waiting[0].run(inputs)

    facts = {"first": inner.op, "second": outer.op}
    change = Change((edits.at(inner, skip), edits.at(outer, both)))
    cause = _order_cause(bench, inner, outer)
    return Hypothesis(cause, change, {**facts, "operation": outer.op}, outer, 1.2)


def _order_cause(bench: Bench, inner: Site, outer: Site) -> str:
    """A mask that covers a term too many, or too few, is known by that name."""
    from parity.backends import tf_edits as edits

    def masks(site: Site) -> bool:
        value = next(iter(calls(bench, site)), None)
        arrays = [edits.array(x) for x in value.call.inputs] if value is not None else []
        return site.op == "Mul" and any(
            a is not None and a.size > 1 and set(np.unique(a)) <= {0.0, 1.0} for a in arrays
        )

    if {inner.op, outer.op} == {"Sum", "Sqrt"}:
        return "norm-kind"  # a sum of roots of squares is that of absolute values
    sums = ("AddV2", "Sub")
    if masks(outer) and inner.op in sums:
        return "mask-extra"
    return "mask-missing" if masks(inner) and outer.op in sums else "operation-order"


def reordered_clips(bench: Bench) -> Iterator[Hypothesis]:
    """A clip (two operations) before what torch does first, or after it."""
    from parity.backends import tf_edits as edits

    groups: dict[Any, list[Site]] = {}
    for site in bench.sites:
        if site.op in ("Maximum", "Minimum"):
            groups.setdefault(site.user, []).append(site)
    for group in groups.values():
        if len(group) != 2:
            continue
        last = calls(bench, group[1])
        for outer in bench.sites:
            second = next(iter(calls(bench, outer)), None)
            if second is None or not last or outer in group:
                continue
            if not any(x is last[0].call.output for x in second.call.inputs):
                continue
            bounds: list[Any] = []

            def skip(call: Any, b: list[Any] = bounds) -> Any:
                b.append(call)
                return edits.tensor(call.inputs[0])

            def both(call: Any, b: list[Any] = bounds) -> Any:
                value = call.run()
                for one in b[-2:]:
                    value = one.run([value, *one.inputs[1:]])
                return value

            change = Change((*(edits.at(s, skip) for s in group), edits.at(outer, both)))
            facts = {"first": "a clip", "second": outer.op}
            yield Hypothesis("operation-order", change, facts, outer, 1.1)


def replaced(bench: Bench) -> Iterator[Hypothesis]:
    """The value that torch has in the place of tf's: where the two computations part.

    Proves the place; what torch does differently stands in its own line.
    """
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    pairs = 0
    for site in suspects_first(bench):
        values = bench.sites[site]
        if not floating(bench, site) or site.op in _SILENT:
            continue
        for run in runs_for(bench, values):
            pairs += 1
            if pairs > _MOST_PAIRS:
                return

            def change(call: Any, held: Any = run) -> Any:
                value = call.run()
                array = held[min(call.occurrence, len(held) - 1)].array
                return tf.cast(tf.reshape(tf.constant(array), tf.shape(value)), value.dtype)

            facts = {
                "torch_line": f"{run[0].place}: {run[0].source}",
                **_relation(bench, values, run),
            }
            if len(facts) == 1 and _whole(bench, run[0]):
                continue  # the result in the place of the result says nothing
            cause = "missing-term" if "term" in facts else "other-computation"
            if "factor_of" in facts:
                cause = "missing-factor"
            rank = 1.9 if cause == "other-computation" else 1.45
            change_ = Change((edits.at(site, change),))
            yield Hypothesis(cause, change_, facts, site, rank, bound=True)


def _whole(bench: Bench, value: Value) -> bool:
    """Whether a value is all that is compared at the first difference."""
    name = bench.first
    wanted = bench.torch[name] if name is not None and name in bench.torch else None
    if wanted is None or wanted.size != value.array.size:
        return False
    a, b = wanted.astype(np.float64).reshape(-1), value.array.astype(np.float64).reshape(-1)
    bound = explained_bound(bench.bound_dtype, float(np.abs(a).max(initial=0.0)))
    with np.errstate(invalid="ignore"):
        return bool(np.all((np.abs(a - b) <= bound) | (a == b)))


def runs_for(bench: Bench, values: list[Value]) -> Iterator[list[Value]]:
    """Values of torch that could stand for those of a site: one for one, or a loop for a loop."""
    shape, count = values[0].array.shape, len(values)
    fitting: dict[Any, list[Value]] = {}
    for value in _unmatched(bench):
        if value.array.size == values[0].array.size and (
            value.array.shape == shape or value.array.size > 1
        ):
            fitting.setdefault(value.site, []).append(value)
    for held in fitting.values():
        if len(held) == count:
            yield held


def _relation(bench: Bench, ours: list[Value], theirs: list[Value]) -> dict[str, Any]:
    """What torch adds or multiplies, where that is one of its own values."""
    a, b = theirs[0].array.astype(np.float64), ours[0].array.astype(np.float64)
    if a.shape != b.shape:
        return {}
    bound = explained_bound(bench.bound_dtype, float(np.abs(a).max(initial=0.0)))
    with np.errstate(all="ignore"):
        for value in _unmatched(bench):
            other = value.array.astype(np.float64)
            if other.shape != a.shape or other.size == 0 or value is theirs[0]:
                continue
            for sign in (1.0, -1.0):
                if np.abs(b + sign * other - a).max() <= bound:
                    return {"term": value.source, "sign": "+" if sign > 0 else "-"}
            if np.isfinite(b * other).all() and np.abs(b * other - a).max() <= bound:
                return {"factor_of": value.source}
    return {}
