"""Hypotheses about a coefficient that is made of one value and a few numbers: a capped ratio times
a decay, a decay inside of the cap, the decay alone.

The trace coefficients of off-policy returns are of this kind (Retrace, V-trace, tree backup), and
there are many ways to mix up the decay and the cap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity.debug.intermediates import Value
from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.known_numbers import torch_numbers
from parity.diagnose.operand_constants import scalar_operands
from parity.tolerance import explained_bound

_MOST_NUMBERS = 6
_LARGEST = 4096
_LARGEST_EXPONENT = 30.0
_SILENT = ("Cast", "Identity", "ReadVariableOp")


@dataclass(frozen=True)
class Formula:
    """A way to make a coefficient: in words, and as a function of the value."""

    kind: str
    text: str
    function: Callable[[Any], Any]
    cap: float = np.inf


@dataclass(frozen=True)
class _Source:
    """What a coefficient is made of: an input, the exponential of one, or its rows turn by turn.

    Attributes:
        array: its values in the order of the turns.
        read: the whole of it, in a run.
        rows: which row belongs to each turn of a loop; none where there is no loop.
    """

    label: str
    array: np.ndarray
    read: Callable[[Any], Any]
    rows: tuple[int, ...] = ()

    def at(self, call: Any) -> Any:
        """What the call's own turn takes of it."""
        whole = self.read(call)
        return whole[self.rows[call.occurrence]] if self.rows else whole

    @property
    def turns(self) -> int:
        return len(self.rows) or 1


def coefficients(bench: Bench) -> Iterator[Hypothesis]:
    """Each side's last value that is a formula of one source, where the formulas differ."""
    formulas = _formulas(_numbers(bench))
    theirs: dict[Any, list[Value]] = {}
    for value in bench.theirs:
        if value.partner is None and value.op != "input" and not value.backward:
            theirs.setdefault(value.site, []).append(value)
    torch = [run for values in theirs.values() if (run := _joined(values)) is not None]
    sites = [site for site in bench.sites if site.op not in _SILENT]
    tf = [(site, run) for site in sites if (run := _joined(bench.sites[site])) is not None]
    for source in _sources(bench):
        fitting = [run for run in torch if _alike(source, run)]
        if not fitting or not any(_alike(source, run) for _, run in tf):
            continue
        made = [(f, np.asarray(f.function(source.array)).reshape(-1)) for f in formulas]
        known = [f for run in fitting if (f := _read(bench, made, run)) is not None]
        wanted = next((f for f in known[::-1] if f.kind != "identity"), None)
        for site, run in tf[::-1] if wanted is not None else ():
            held = _read(bench, made, run) if _alike(source, run) else None
            if wanted is None or held is None or held.text == wanted.text:
                continue
            if np.isfinite(wanted.cap) or np.isfinite(held.cap):  # plain factors are read elsewhere
                yield _hypothesis(site, source, held, wanted)


def _hypothesis(site: Site, source: _Source, was: Formula, wanted: Formula) -> Hypothesis:
    import tensorflow as tf

    from parity.backends import tf_edits as edits

    def change(call: Any) -> Any:
        value = call.run()
        x = tf.cast(tf.convert_to_tensor(source.at(call)), value.dtype)
        return tf.reshape(wanted.function(x), tf.shape(value))

    x = source.label
    facts = {"was": was.text.format(x=x), "wanted": wanted.text.format(x=x), "of": x}
    cause = _cause(was, wanted)
    return Hypothesis(cause, Change((edits.at(site, change),)), facts, site, 0.9)


def _cause(was: Formula, wanted: Formula) -> str:
    """The mistake that takes one kind of coefficient for another."""
    kinds = was.kind, wanted.kind
    if was.kind == wanted.kind:
        return "constant"
    inside = set(kinds) == {"cap", "times-cap"} and was.cap != wanted.cap
    if inside or set(kinds) == {"times-cap", "cap-times"}:
        return "operation-order"  # the factor stands inside of the cap on one side
    return {
        ("cap", "times-cap"): "missing-factor",
        ("times-cap", "cap"): "extra-factor",
        ("times", "times-cap"): "clip-missing",
        ("identity", "cap"): "clip-missing",
        ("times-cap", "times"): "clip-extra",
        ("cap", "identity"): "clip-extra",
        ("number", "times-cap"): "missing-factor",
        ("times-cap", "number"): "extra-factor",
    }.get(kinds, "other-function")


def _numbers(bench: Bench) -> list[float]:
    found = [v for _, v in torch_numbers(bench)] + [v for *_, v in scalar_operands(bench)]
    return [v for v in dict.fromkeys(found) if 0.0 < v <= 100.0 and v != 1.0][:_MOST_NUMBERS]


def _sources(bench: Bench) -> Iterator[_Source]:
    for name, given in bench.inputs["tf"].items():
        array = np.asarray(given)
        if array.dtype.kind != "f" or not 1 < array.size <= _LARGEST:
            continue
        wide = array.astype(np.float64)
        yield from _turns(_Source(name, wide, bench.input(name)))
        if np.abs(wide).max() < _LARGEST_EXPONENT:
            yield from _turns(_Source(f"exp({name})", np.exp(wide), _exponential(bench, name)))


def _exponential(bench: Bench, name: str) -> Callable[[Any], Any]:
    import tensorflow as tf

    read = bench.input(name)
    return lambda call: tf.exp(read(call))


def _turns(source: _Source) -> Iterator[_Source]:
    """The whole, and its rows as a loop takes them: forwards or backwards, one left out or none."""
    yield source
    count = len(source.array)
    forwards = list(range(count))
    for rows in (forwards, forwards[::-1], forwards[1:], forwards[:0:-1], forwards[:-1],
                 forwards[-2::-1]):  # fmt: skip
        if len(rows) > 1:
            yield replace(source, array=source.array[rows], rows=tuple(rows))


def _formulas(numbers: Sequence[float]) -> list[Formula]:
    """Plain ones first, so that what has several forms gets the simplest."""
    caps = [1.0, *numbers]
    found = [Formula("identity", "{x}", _capped(1.0, 1.0))]
    found += [Formula("cap", f"min({{x}}, {c:g})", _capped(1.0, 1.0, c), c) for c in caps]
    for n in numbers:
        found.append(Formula("times", f"{n:g} * {{x}}", _capped(n, 1.0)))
        found.append(Formula("number", f"{n:g}", _capped(n, 0.0)))
        for c in caps:
            found.append(Formula("times-cap", f"{n:g} * min({{x}}, {c:g})", _capped(n, 1.0, c), c))
            found.append(Formula("cap-times", f"min({n:g} * {{x}}, {c:g})", _capped(1.0, n, c), c))
    return found


def _capped(outer: float, inner: float, cap: float = np.inf) -> Callable[[Any], Any]:
    """``outer * min(inner * x, cap)``; the number ``outer`` itself where ``inner`` is 0."""
    import tensorflow as tf

    def function(x: Any) -> Any:
        if inner == 0.0:
            return outer * tf.ones_like(x)
        made = inner * x if inner != 1.0 else tf.convert_to_tensor(x)
        # a number cast to float64 would have been rounded to float32 on the way
        made = made if np.isinf(cap) else tf.minimum(made, tf.constant(cap, made.dtype))
        return outer * made if outer != 1.0 else made

    return function


_Run = tuple[int, np.ndarray]
"""How many turns a place ran, and its values of all turns in a row."""


def _joined(values: Sequence[Value]) -> _Run | None:
    if any(v.array.dtype.kind != "f" or v.backward for v in values):
        return None
    if not 1 < sum(v.array.size for v in values) <= _LARGEST:
        return None
    return len(values), np.concatenate([v.array.reshape(-1) for v in values]).astype(np.float64)


def _alike(source: _Source, run: _Run) -> bool:
    return run[0] == source.turns and run[1].size == source.array.size


def _read(bench: Bench, made: Sequence[tuple[Formula, np.ndarray]], run: _Run) -> Formula | None:
    """The formula by which a place makes its values."""
    bound = explained_bound(bench.bound_dtype, float(np.abs(run[1]).max(initial=0.0)))
    return next((f for f, values in made if np.abs(values - run[1]).max() <= bound), None)
