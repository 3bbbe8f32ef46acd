"""Hypotheses about two numbers that add up to one: tau and 1 - tau, old and new average."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from parity.debug.sites import Site
from parity.diagnose.bench import Bench
from parity.diagnose.factors import in_normalisation
from parity.diagnose.hypotheses import Change, Hypothesis
from parity.diagnose.known_numbers import tf_constants, torch_numbers
from parity.diagnose.numbers import same
from parity.diagnose.operand_constants import constant_change, scalar_operands
from parity.diagnose.suspects import calls

_TAU = re.compile(r"tau|polyak|rho|decay|soft|ema|momentum|beta", re.IGNORECASE)


def complements(bench: Bench) -> Iterator[Hypothesis]:
    """Two constants that add up to one (a blend), changed together."""
    theirs = [v for _, v in torch_numbers(bench) if 0.0 <= v <= 1.0][:_MOST_WEIGHTS]
    found = [(s, i, v) for s, i, v in scalar_operands(bench)
             if 0.0 <= v <= 1.0 and not _in_formula(s)]  # fmt: skip
    groups: dict[float, list[tuple[Site, int, float]]] = {}
    for site, index, value in found:
        groups.setdefault(round(min(value, 1.0 - value), 12), []).append((site, index, value))
    for members in groups.values():
        values = {round(v, 12) for _, _, v in members}
        if len(values) < 2:
            continue
        small = min(v for _, _, v in members)
        if not 1e-5 < small < 0.5:  # smaller ones are guards, not the weights of a blend
            continue
        named = _name_of(bench, small)
        for new in dict.fromkeys([1.0 - small, *theirs, 0.0, 1.0]):
            for which in ("all", "first", "later"):
                yield from _blend(members, small, new, which, named)


def ignored_arguments(bench: Bench) -> Iterator[Hypothesis]:
    """A constant that weighs a difference (a blend), other at the first turn or at later ones."""
    from parity.backends import tf_edits as edits

    theirs = [v for _, v in torch_numbers(bench) if 0.0 <= v <= 1.0]
    for site, index, old in scalar_operands(bench):
        if site.op != "Mul" or len(bench.sites[site]) < 2 or not 0.0 < old < 1.0:
            continue
        if not _weighs_difference(bench, site, 1 - index):
            continue
        for new in dict.fromkeys([1.0, 0.0, *theirs, 1.0 - old]):
            for which, chosen in (("first", lambda k: k == 0), ("later", lambda k: k > 0)):
                if new == old:
                    continue
                change = edits.at(site, constant_change(index, new), chosen)
                facts = {"was": old, "wanted": new, "which": which}
                yield Hypothesis("tau-ignored", Change((change,)), facts, site, 0.9)


def _weighs_difference(bench: Bench, site: Site, index: int) -> bool:
    """Whether an operand is a difference of two arrays, as in a + rate * (b - a)."""
    operand = calls(bench, site)[0].call.inputs[index]
    for call in bench.calls:
        if any(o is operand for o in call.outputs):
            return call.op == "Sub" and all(np.ndim(x) > 0 for x in call.inputs)
    return False


_MOST_WEIGHTS = 8


def _name_of(bench: Bench, value: float) -> str:
    """What the code calls a number or its complement."""
    for constant in tf_constants(bench):
        if constant.name and not isinstance(constant.value, bool):
            if any(same(float(constant.value), v) for v in (value, 1.0 - value)):
                return constant.name
    return ""


def _blend(
    members: Sequence[tuple[Site, int, float]], small: float, new: float, which: str, named: str
) -> Iterator[Hypothesis]:
    from parity.backends import tf_edits as edits

    if abs(new - small) < 1e-12:
        return
    chosen = {"all": None, "first": lambda k: k == 0, "later": lambda k: k > 0}[which]
    changes = []
    for site, index, value in members:
        wanted = new if abs(value - small) < 1e-9 else 1.0 - new
        changes.append(edits.at(site, constant_change(index, wanted), chosen))
    swapped = abs(new - (1.0 - small)) < 1e-9
    cause = "tau-swapped" if swapped else "tau-ignored" if which != "all" else "tau-value"
    if named and cause == "tau-swapped" and not _TAU.search(named):
        cause = "complement"
    facts = {"was": small, "wanted": new, "which": which}
    rank = 0.6 if swapped and which == "all" else 0.9
    yield Hypothesis(cause, Change(tuple(changes)), facts, members[0][0], rank)


def _in_formula(site: Site) -> bool:
    """In code of Keras where two numbers that add up to one are no blend of the user's."""
    return in_normalisation(site) or any(
        "keras" in code.co_filename and "losses" in code.co_filename for code, _ in site.chain
    )
