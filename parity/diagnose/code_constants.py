"""Hypotheses about a number in the tf side's code: torch's, a relative, one solved for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.constants import Constant
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.known_numbers import close, setting, solve, tf_constants, torch_numbers
from parity.diagnose.numbers import Meaning, constant_meaning, factor_meaning, relatives, same

MOST_CANDIDATES = 24


def named_constants(bench: Bench) -> Iterator[Hypothesis]:
    """A number in the code of the tf side, set to one of torch's or to a relative of its own."""
    theirs = torch_numbers(bench)
    for constant in sorted(tf_constants(bench), key=lambda c: c.name == ""):
        if isinstance(constant.value, (bool, np.bool_)):
            continue
        if isinstance(constant.value, (int, np.integer)):
            yield from _integer(bench, constant, theirs)
        else:
            yield from _floating(bench, constant, theirs)


def _integer(
    bench: Bench, constant: Constant, theirs: Sequence[tuple[str, float]]
) -> Iterator[Hypothesis]:
    old = int(constant.value)
    if not constant.name and constant.where and abs(old) > 64:
        return
    scalars = _powers(bench)
    named = {n: v for n, v in theirs if v == int(v) and 0 < abs(v) < 1000 and not n[:1].isdigit()}
    options = [*(int(v) for n, v in named.items() if n == constant.name), old + 1, old - 1]
    options += [int(v) for v in named.values()]
    for new in dict.fromkeys(options):
        if new == old:
            continue
        kind = "off-by-one" if abs(new - old) == 1 else "constant"
        if any(index == 1 and v == old and s.op == "Pow" for s, index, v in scalars):
            kind = "exponent"
        meaning = Meaning(kind, str(new))
        change = setting(bench, {constant.key: new})
        yield _constant_hypothesis(bench, constant, new, meaning, change, 1.3)


def _powers(bench: Bench) -> list[tuple[Site, int, float]]:
    """Exponents of the tf side, which are integers like any other in its code."""
    from parity.backends import tf_edits as edits

    found = []
    for site, values in bench.sites.items():
        for index, operand in enumerate(values[0].call.inputs if site.op == "Pow" else ()):
            array = edits.array(operand)
            if array is not None and array.ndim == 0:
                found.append((site, index, float(array)))
    return found


def _floating(
    bench: Bench, constant: Constant, theirs: Sequence[tuple[str, float]]
) -> Iterator[Hypothesis]:
    old = float(constant.value)
    options: list[tuple[Meaning, float, float]] = [
        (Meaning("constant", name), number, 0.7 if name == constant.name else 0.9)
        for name, number in theirs
        if number != old and not name[:1].isdigit()
    ]
    options += [
        (Meaning("constant", name), number, 1.05)
        for name, number in theirs
        if number != old and name[:1].isdigit() and not float(number).is_integer()
    ]
    options = options[:MOST_CANDIDATES]
    options += [(meaning, number, 1.0) for meaning, number in relatives(old)]
    for meaning, new, rank in options:
        if not np.isfinite(new) or new == old:
            continue
        said = constant_meaning(old, new)
        if (
            meaning.kind == "constant"
            and said is not None
            and said.kind in ("power", "complement", "sign", "two")
        ):
            meaning = Meaning(said.kind, said.text, {**said.facts, "named": meaning.text})
        change = setting(bench, {constant.key: new})
        yield _constant_hypothesis(bench, constant, new, meaning, change, rank)


def _constant_hypothesis(
    bench: Bench, constant: Constant, new: Any, meaning: Meaning, change: Change, rank: float
) -> Hypothesis:
    facts = {
        "name": constant.name,
        "was": constant.value,
        "wanted": new,
        "meaning": meaning.text,
        "where": constant.where,
        **meaning.facts,
    }
    if not constant.name:
        rank += 0.15
    cause = constant_cause(meaning, constant.name, float(constant.value))
    return Hypothesis(cause, change, facts, None, rank, constant.where)


def constant_cause(meaning: Meaning, name: str, old: float) -> str:
    """Which known mistake a changed number is, from its relation and the name that it bears."""
    word = (name or (meaning.text if meaning.text.isidentifier() else "")).lower()
    if "gamma" in word:
        return (
            "discount-power"
            if meaning.kind == "power"
            else ("discount" if 0.0 < old < 1.0 else "loss-constant")
        )
    if meaning.kind == "exponent":
        return "extra-operation" if meaning.text == "1" else "constant"
    if meaning.kind == "off-by-one":
        return "off-by-one"
    if meaning.kind == "power" and 0 < old < 1:
        return "discount-power"
    if old == 0.0 and not word and meaning.kind in ("constant", "number"):
        return "missing-term"
    if meaning.kind == "inverse":
        return "other-operation"
    if meaning.kind == "complement":
        if "momentum" in word:
            return "norm-momentum"
        if old not in (0.0, 1.0):
            return "tau-swapped" if word in ("tau", "polyak", "rho", "decay") else "complement"
    for words, cause in _WORDS:
        if any(part in word for part in words):
            return cause
    if meaning.kind == "two" and abs(old) in _FACTORS:
        return "factor-two"
    if meaning.kind == "sign":
        return "sign"
    if meaning.kind == "none" and not word:
        return "extra-term"
    return "constant-factor" if old == 1.0 else "constant"


_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""What these hold may well be a factor; others are numbers of their own."""

_WORDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("start", "init", "accum"), "initial-value"),
    (("eps",), "epsilon-value"),
    (("discount",), "discount"),
    (("margin", "delta", "temperature"), "loss-constant"),
    (("tau", "polyak"), "tau-value"),
    (("smooth",), "label-smoothing"),
    (("lr", "learning_rate"), "learning-rate"),
    (("l2", "weight_decay", "wd"), "weight-decay-value"),
    (("beta1", "beta_1", "beta2", "beta_2"), "adam-beta"),
)


def solved_constants(bench: Bench) -> Iterator[Hypothesis]:
    """A number in the code, solved for: the value under which the sides agree."""
    theirs = torch_numbers(bench)
    for constant in tf_constants(bench):
        if isinstance(constant.value, (bool, np.bool_, int, np.integer)):
            continue
        old = float(constant.value)

        def change(value: float, key: str = constant.key) -> Change:
            return setting(bench, {key: value})

        new = solve(bench, change, old)
        if new is None or same(new, old, close(bench)):
            continue
        meaning = constant_meaning(old, new, constants=theirs, close=close(bench))
        sizes = {n for a in bench.inputs["tf"].values() for n in (*np.shape(a), np.size(a))}
        times = factor_meaning(new / old, sizes=sizes, close=close(bench)) if old else None
        if times is not None and (meaning is None or meaning.kind == "number"):
            facts = {"factor": new / old, "meaning": times.text, **times.facts}
            causes = {"two": "factor-two", "size": "loss-reduction", "bessel": "ddof"}
            cause = causes.get(times.kind, "constant-factor")
            yield Hypothesis(cause, change(new), facts, None, 1.15, constant.where)
            continue
        rank = 1.2 if meaning is not None else 1.8
        meaning = meaning or Meaning("number", f"{new:.8g}")
        yield _constant_hypothesis(bench, constant, new, meaning, change(new), rank)
