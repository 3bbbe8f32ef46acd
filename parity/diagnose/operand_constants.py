"""Hypotheses about a plain number among the operands of an operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.code_constants import MOST_CANDIDATES, constant_cause
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.known_numbers import close, solve, torch_numbers
from parity.diagnose.numbers import Meaning, constant_meaning, relatives, same
from parity.diagnose.suspects import calls, suspects_first


def operation_constants(bench: Bench) -> Iterator[Hypothesis]:
    """A constant operand of an operation, where the code shows no name for it."""
    theirs = torch_numbers(bench)
    for site, index, old in scalar_operands(bench):
        options = [(Meaning("constant", n), v) for n, v in theirs if not float(v).is_integer()]
        options = options[:MOST_CANDIDATES] + list(relatives(old))
        for meaning, new in options:
            if np.isfinite(new) and new != old:
                change = Change((_constant_edit(site, index, new),))
                yield _site_constant(bench, site, old, new, meaning, change, 1.25)


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
