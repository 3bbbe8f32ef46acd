"""Hypotheses about a plain number among the operands of an operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.code_constants import constant_cause
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.known_numbers import close, solve, torch_numbers
from parity.diagnose.numbers import Meaning, constant_meaning, same
from parity.diagnose.suspects import calls, suspects_first

#: Operations of the tf side that take a number, and those of torch that do the same with one.
_KINDS: dict[str, tuple[str, ...]] = {
    "Mul": ("mul", "mul_"), "RealDiv": ("div", "div_"), "AddV2": ("add", "add_"),
    "Sub": ("sub", "sub_", "rsub"), "Pow": ("pow",), "Maximum": ("clamp", "clamp_min"),
    "Minimum": ("clamp", "clamp_max"),
}  # fmt: skip
_INVERSE = {"Mul": "RealDiv", "RealDiv": "Mul"}


def operation_constants(bench: Bench) -> Iterator[Hypothesis]:
    """A number that only tf's operations of a kind hold, set to one that only torch's do."""
    operands = scalar_operands(bench)
    for op in dict.fromkeys(site.op for site, _, _ in operands):
        own = [(site, index, v) for site, index, v in operands if site.op == op]
        theirs = _numbers_of(bench, op)
        rest = [n for n in theirs if not any(same(n, v) for _, _, v in own)]
        for site, index, old in own:
            if any(same(old, n) for n in theirs):
                continue
            for new in rest[:_MOST_OF_KIND]:
                change = Change((_constant_edit(site, index, new),))
                meaning = constant_meaning(old, new) or Meaning("number", f"{new:.8g}")
                yield _site_constant(bench, site, old, new, meaning, change, 0.95)


_MOST_OF_KIND = 6


def _numbers_of(bench: Bench, op: str) -> list[float]:
    """The numbers that torch's operations of a kind are given; those of the inverse, inverted."""
    found: list[float] = []
    for value in bench.theirs:
        numbers = [n for n in getattr(value.call, "numbers", ()) if np.isfinite(n)]
        if value.backward or not numbers:
            continue
        if value.op in _KINDS.get(op, ()):
            found += numbers
        elif value.op in _KINDS.get(_INVERSE.get(op, ""), ()):
            found += [1.0 / n for n in numbers if n]
    return list(dict.fromkeys(float(n) for n in found))


def scalar_operands(bench: Bench) -> list[tuple[Site, int, float]]:
    """Operands that are plain numbers: (site, index of the operand, value)."""
    from parity.backends import tf_edits as edits

    made = {id(o) for c in bench.calls for o in c.outputs}
    given = {float(a) for a in bench.inputs["tf"].values() if np.ndim(a) == 0}
    found = []
    for site in suspects_first(bench):
        for value in calls(bench, site)[:1]:
            for index, operand in enumerate(value.call.inputs):
                if isinstance(operand, (bool, list, tuple)) or id(operand) in made:
                    continue
                array = edits.array(operand)
                if (
                    array is None
                    or array.ndim
                    or array.dtype.kind not in "f"
                    and not (isinstance(operand, int) and site.op in ("Pow", "Fill"))
                ):
                    continue
                if float(array) not in given:
                    found.append((site, index, float(array)))
    return found


def constant_change(index: int, value: float) -> Callable[[Any], Any]:
    """The operation run with a number in the place of an operand."""
    from parity.backends import tf_edits as edits

    def change(call: Any) -> Any:
        inputs = list(call.inputs)
        inputs[index] = edits.constant_like(value, inputs[index])
        return call.run(inputs)

    return change


def _constant_edit(site: Site, index: int, value: float) -> Any:
    from parity.backends import tf_edits as edits

    return edits.at(site, constant_change(index, value))


def _site_constant(
    bench: Bench, site: Site, old: float, new: float, meaning: Meaning, change: Change, rank: float
) -> Hypothesis:
    facts = {"was": old, "wanted": new, "meaning": meaning.text, "name": "", "where": site.place,
             "operation": site.op, **meaning.facts}  # fmt: skip
    cause = constant_cause(meaning, "", old)
    if site.op == "Fill" or site.within("add_variable_from_reference"):
        cause = "initial-value"
    elif 0 < abs(old) < 0.01 and 0 <= abs(new) < 0.01:
        cause = "epsilon-value"
    return Hypothesis(cause, change, facts, site, rank)


def solved_operands(bench: Bench) -> Iterator[Hypothesis]:
    """A constant operand, solved for."""
    theirs = torch_numbers(bench)
    for site, index, old in scalar_operands(bench):

        def change(value: float, site: Site = site, index: int = index) -> Change:
            return Change((_constant_edit(site, index, value),))

        new = solve(bench, change, old)
        if new is None or same(new, old, close(bench)):
            continue
        meaning = constant_meaning(old, new, constants=theirs, close=close(bench))
        rank = 1.4 if meaning is not None else 2.0
        meaning = meaning or Meaning("number", f"{new:.8g}")
        yield _site_constant(bench, site, old, new, meaning, change(new), rank)
