"""Hypotheses about an operation that only the torch side applies, or another in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.suspects import at_site, calls, floating, known, suspects_first

_MOST_UNSEEN = 40

_UNARY_OPS = frozenset(
    "Exp Log Softmax LogSoftmax Sigmoid Tanh Relu Softplus Square Sqrt Abs Sign Neg Elu Selu Erf "
    "Softsign Relu6 Log1p Expm1 Reciprocal Rsqrt Inv LeakyRelu ClipByValue Round Floor".split()
)


def known_wraps(bench: Bench) -> Iterator[Hypothesis]:
    """The same, where torch has the result among its intermediates."""
    for site in suspects_first(bench):
        if floating(bench, site) and site.op not in ("Fill", "ReadVariableOp", "Identity", "Cast"):
            yield from (h for there, h in _wrapped(bench, site) if there)


def known_operands(bench: Bench) -> Iterator[Hypothesis]:
    """A function that torch applies to what an operation is given; to all of it, where torch does:
    both sides of a similarity normalised."""
    from parity.backends import tf_edits as edits

    made = {id(o) for c in bench.calls for o in c.outputs}
    for site in suspects_first(bench):
        given = calls(bench, site)
        if len(given) != 1 or site.op in ("Fill", "ReadVariableOp", "Identity", "Cast", "Shape"):
            continue
        held = [edits.array(x) for x in given[0].call.inputs[:4]]
        floats = {i: a for i, a in enumerate(held)
                  if a is not None and a.dtype.kind == "f" and a.size > 1}  # fmt: skip
        for name, function in edits.UNARY.items():
            chosen = [i for i, a in floats.items() if known(bench, function, a, paired=True)]
            alone = len(chosen) == 1 and id(given[0].call.inputs[chosen[0]]) in made
            if not chosen or alone:  # what one operation made is tried where it was made
                continue
            facts = {"operation": name, "operands": len(chosen)}
            change = _on_operands(chosen, function)
            yield at_site(site, change, missing(name), 1.3, **facts)


def _on_operands(chosen: Sequence[int], function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    from parity.backends import tf_edits as edits

    def change(call: Any) -> Any:
        inputs = list(call.inputs)
        for index in chosen:
            inputs[index] = function(edits.tensor(inputs[index]))
        return call.run(inputs)

    return change


def known_inputs(bench: Bench) -> Iterator[Hypothesis]:
    """A function that torch applies to several inputs, and the tf side to none of them."""
    from parity.backends import tf_edits as edits

    floats = {n: a for n, g in bench.inputs["tf"].items()
              if (a := np.asarray(g)).dtype.kind == "f" and a.size > 1}  # fmt: skip
    for label, function in edits.UNARY.items():
        names = [n for n, a in floats.items() if known(bench, function, a)]
        if len(names) < 2:
            continue

        def applied(given: Any, names: Sequence[str] = names, f: Any = function) -> Any:
            return {k: np.asarray(f(np.asarray(a))) if k in names else a for k, a in given.items()}

        facts = {"operation": label, "input": " and ".join(names)}
        change = Change(inputs=(applied,))
        yield Hypothesis(missing(label), change, facts, None, 1.35, values_only=True)


def wraps(bench: Bench) -> Iterator[Hypothesis]:
    """An operation that only the torch side has, or another function in its place."""
    options: list[tuple[bool, Hypothesis]] = []
    for site in suspects_first(bench):
        if not floating(bench, site) or site.op in ("Fill", "ReadVariableOp", "Identity", "Cast"):
            continue
        options += _wrapped(bench, site)
    # what torch has among its intermediates is likelier; the rest only as far as time goes
    options.sort(key=lambda pair: not pair[0])
    seen = sum(1 for known, _ in options if known)
    yield from (h for _, h in options[: seen + _MOST_UNSEEN])


def _wrapped(bench: Bench, site: Site) -> list[tuple[bool, Hypothesis]]:
    from parity.backends import tf_edits as edits

    found = []
    value = bench.sites[site][0]
    for name, function in {**edits.UNARY, **_clips(bench)}.items():
        there = known(bench, function, value.array)
        found.append(
            (there, at_site(site, edits.after(function), missing(name), 1.4, operation=name))
        )
        given = calls(bench, site)
        if site.op in _UNARY_OPS and given:
            before = edits.array(given[0].call.inputs[0])
            change = edits.instead(lambda x, *_, f=function: f(x))
            there = before is not None and known(bench, function, before)
            found.append(
                (there, at_site(site, change, "other-function", 1.3, was=site.op, wanted=name))
            )
    return found


def _clips(bench: Bench) -> dict[str, Callable[[Any], Any]]:
    """Clips to bounds that the torch side has among its numbers."""
    import tensorflow as tf

    from parity.diagnose.known_numbers import torch_numbers

    found: dict[str, Callable[..., Any]] = {}
    numbers = [v for n, v in torch_numbers(bench) if 0 < abs(v) <= 1000 and np.isfinite(v)]
    for bound in list(dict.fromkeys(numbers))[:6]:
        found[f"clip above {bound:g}"] = lambda x, b=bound: tf.minimum(x, tf.constant(b, x.dtype))
        found[f"clip below {bound:g}"] = lambda x, b=bound: tf.maximum(x, tf.constant(b, x.dtype))
        if bound > 0 and bound != 1:
            found[f"clip to [{-bound:g}, {bound:g}]"] = lambda x, b=bound: tf.clip_by_value(
                x, -b, b
            )
    for low, high in dict.fromkeys(_both_bounds(bench)):
        found[f"clip to [{low:g}, {high:g}]"] = lambda x, a=low, b=high: tf.clip_by_value(x, a, b)
    return found


def _both_bounds(bench: Bench) -> Iterator[tuple[float, float]]:
    """The bounds of torch's clips."""
    for value in bench.theirs:
        numbers: list[float] = list(getattr(value.call, "numbers", ()))
        if value.op in ("clamp", "clamp_", "hardtanh") and len(numbers) >= 2:
            low, high = float(numbers[-2]), float(numbers[-1])
            if np.isfinite([low, high]).all() and low < high:
                yield low, high


def known_raw(bench: Bench) -> Iterator[Hypothesis]:
    """A function that torch applies to an input, and the tf side does not."""
    yield from (h for there, h in _given_raw(bench) if there)


def given_raw(bench: Bench) -> Iterator[Hypothesis]:
    """The same, where torch does not have the result among its intermediates."""
    yield from [h for there, h in _given_raw(bench) if not there][:_MOST_UNSEEN]


def _given_raw(bench: Bench) -> list[tuple[bool, Hypothesis]]:
    from parity.backends import tf_edits as edits

    functions = {**edits.UNARY, **_clips(bench)}
    options: list[tuple[bool, Hypothesis]] = []
    for name, array in bench.inputs["tf"].items():
        held = np.asarray(array)
        if held.dtype.kind != "f" or held.ndim == 0:
            continue
        for label, function in functions.items():

            def applied(given: Any, n: str = name, f: Any = function) -> Any:
                return {k: np.asarray(f(np.asarray(a))) if k == n else a for k, a in given.items()}

            facts = {"operation": label, "input": name}
            change = Change(inputs=(applied,))
            hypothesis = Hypothesis(missing(label), change, facts, None, 1.4, values_only=True)
            if label.startswith(("clip above", "clip below")):
                hypothesis = replace(hypothesis, rank=1.35)
            options.append((known(bench, function, held), hypothesis))
    return options


def missing(name: str) -> str:
    if name == "negation":
        return "sign"
    if name.startswith("clip"):
        return "clip-missing"
    if name in ("softmax", "sigmoid", "log_softmax", "log_sigmoid"):
        return "logits-probabilities"
    return "missing-operation"
