"""Why two functions differ: the order in which hypotheses are tried, and what is reported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parity.debug.calls import Caller
from parity.debug.functions import Inputs, Run
from parity.diagnose import (
    clipping,
    code_constants,
    dtypes,
    extra_operations,
    factors,
    gradients,
    inner,
    known_numbers,
    optimizers,
    ordering,
    parted,
    relations,
    schedules,
    simulate,
    state,
    terms,
)
from parity.diagnose.bench import Bench
from parity.diagnose.hypotheses import Change, Direct, Finding, Hypothesis
from parity.diagnose.searching import search
from parity.diagnose.tiers import inner_tiers, quick_tiers, thorough_tiers
from parity.diagnose.wording import as_cause
from parity.report import Report
from parity.tolerance import SAME_ARRAY
from parity.verdict import Verdict

_ACCOUNTS = 100.0
"""An optimizer's settings account for a difference that is not this much larger than theirs."""
_LAST = 4.0
"""Seconds for the values of torch's own, which are tried last."""
_LAYERS = 4
_GAIN = 0.5
"""Share of the difference that may be left for causes inside of the computation to be believed."""
"""Faults stacked on one another that are peeled off at most."""


def explain_functions(
    report: Report,
    callers: Mapping[str, Caller],
    inputs: Inputs,
    base: Run,
    wide: Run | None,
    known: Sequence[tuple[str, np.ndarray]] = (),
) -> Report:
    """Try hypotheses on the pair and put those that remove the difference into the report.

    Args:
        known: ``(name, array)`` of what both sides have beside their inputs.
    """
    if callers["tf"].recorded:
        return report  # every hypothesis changes how the tf side runs
    differs = wide is not None and bool(wide.report.failing)
    targets = None
    if report.verdict is Verdict.DIVERGE and not any(p.kind == "gradient" for p in report.problems):
        targets = {entry.name for entry in report.failing}
    bench = Bench(callers, inputs, wide if wide is not None and differs else base, targets=targets)
    bench.known = known
    if bench.before.first is None:
        return report
    causes = _causes(bench)
    subject = {**report.subject, **_place(bench)}
    if bench.untried:
        subject["untried"] = tuple(bench.untried)
    report = report.with_(causes=tuple(causes), subject=subject)
    if report.verdict is Verdict.LATENT and [c["cause"] for c in causes] == ["float32-inside"]:
        # rounding, not a difference: what the float64 run was to show it cannot show
        inside = {"place": causes[0]["place"], "error": causes[0]["before"]}
        report = report.with_(subject={**subject, "float32_inside": [inside]})
    return report


def _causes(bench: Bench) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    minor: list[dict[str, Any]] = []
    start = bench.before.at_first
    for _ in range(_LAYERS):
        causes, change = _one_round(bench)
        found += causes
        minor += bench.minor if not minor else []
        if change is None:
            break
        bench.apply(change)
        if bench.first is None:
            break
    if bench.first is not None and not bench.before.at_first < _GAIN * start:
        # what was guessed of values inside led nowhere: it is not the cause
        found = [cause for cause in found if not cause["inside"]]
    return [{k: v for k, v in cause.items() if k != "inside"} for cause in (*found, *minor)]


def _one_round(bench: Bench) -> tuple[list[dict[str, Any]], Change | None]:
    """The causes of the first difference, and the change that undoes them if more is left."""
    bench.minor = []
    for direct in (_frozen, _float32, _optimizers):
        causes, change, done = direct(bench)
        if causes and (done or change is not None):
            return causes, change
    still = state.unchanged(bench)
    if still is not None:
        facts = {"entry": still[0], "equals": still[1]}
        return [as_cause(bench, Direct("state-not-updated", facts, 0.0, 0.3), [])], None
    known = _direct(bench)
    if known and known[0].rank < 0.7:
        return [as_cause(bench, known[0], known[1:])], None
    findings = search(bench, quick_tiers(bench))
    best = findings[0] if findings else None
    if best is not None and _peels(best):
        return [as_cause(bench, best, _equals(findings))], best.hypothesis.change
    if best is None or not _settles(best):
        if known:
            return [as_cause(bench, known[0], known[1:])], None
        if bench.stacked:  # the last round saw that nothing alone explains the result
            rest = search(
                bench,
                [[extra_operations.bypasses], [code_constants.solved_constants, factors.factors]],
            )
            if rest and _settles(rest[0]):
                return [as_cause(bench, rest[0], _equals(rest))], None
            deeper = inner.peel(bench, inner_tiers(bench))
            if deeper is not None:
                return [as_cause(bench, deeper, inside=True)], deeper.hypothesis.change
        rest = search(bench, thorough_tiers(bench))
        findings = sorted([*findings, *rest], key=lambda f: f.order)
        if not any(f.complete and _credible(f) for f in findings):
            parts = [f for f in findings if _credible(f) and f.confirmed is True]
            if parts:
                return [as_cause(bench, parts[0], _equals(parts))], parts[0].hypothesis.change
            deeper = inner.peel(bench, inner_tiers(bench))
            if deeper is not None:
                bench.stacked = True
                return [as_cause(bench, deeper, inside=True)], deeper.hypothesis.change
            weak = _direct(bench, weak=True)
            if weak:
                return [as_cause(bench, weak[0], weak[1:])], None
            bench.allow(_LAST)
            found = search(bench, [[parted.others], [terms.replaced]])
            findings = sorted([*findings, *found], key=lambda f: f.order)
    findings = [f for f in findings if _credible(f)]
    if not findings:
        weak = [*_direct(bench, weak=True), *relations.missing(bench), *relations.generic(bench)]
        return ([as_cause(bench, weak[0], weak[1:])] if weak else []), None
    best = findings[0]
    cause = as_cause(bench, best, _equals(findings))
    return [cause], None if best.complete else best.hypothesis.change


def _equals(findings: list[Finding]) -> list[Finding]:
    """What the data does not tell apart from the best finding."""
    return [f for f in findings[1:] if f.order[:3] == findings[0].order[:3]]


def _peels(finding: Finding) -> bool:
    """It removes the first difference, for other inputs too, and leaves another to look at."""
    return (
        not finding.complete
        and finding.confirmed is True
        and finding.score.exact
        and (finding.hypothesis.rank <= 1.0)
    )


def _settles(finding: Finding) -> bool:
    return finding.complete and finding.exact and finding.confirmed is not False


def _credible(finding: Finding) -> bool:
    """A part of the difference removed by a number that was fitted to it proves nothing."""
    if finding.confirmed is False:
        return False
    return finding.complete or finding.hypothesis.rank < 1.5


def _frozen(bench: Bench) -> tuple[list[dict[str, Any]], Change | None, bool]:
    """What a trace of ``tf.function`` froze: gone when the function runs eagerly."""
    if bench.eager is None or _equal(bench.eager, bench.tf):
        return [], None, False
    score = bench.score(bench.eager)
    if not bench.improves(score):
        bench.start(bench.eager)
        return [], None, False
    hypothesis = Hypothesis("frozen-state", Change(), _traced(bench), None, 0.1)
    cause = as_cause(bench, Finding(hypothesis, bench.before.at_first, score), [])
    bench.start(bench.eager)
    return [cause], None if score.agrees else Change(), score.agrees


def _equal(a: Any, b: Any) -> bool:
    return list(a) == list(b) and all(
        a[n].shape == b[n].shape and np.allclose(a[n], b[n], **SAME_ARRAY, equal_nan=True)
        for n in a
    )


def _traced(bench: Bench) -> dict[str, Any]:
    names = state.traced_functions(bench)
    return {"functions": [n for n, _ in names], "draws": any(drawn for _, drawn in names)}


def _float32(bench: Bench) -> tuple[list[dict[str, Any]], Change | None, bool]:
    found = dtypes.float32_inside(bench)
    if found is None:
        return [], None, False
    place, error, bound = found
    direct = Direct("float32-inside", {"error": error, "bound": bound}, 0.0, 0.2, place)
    return [as_cause(bench, direct, [])], None, True


def _clipped(bench: Bench) -> Direct | None:
    """Gradients that the two sides clip in different ways before the first step."""
    if not bench.torch_steps or not bench.keras_steps:
        return None
    torch_step, keras_step = bench.torch_steps[0], bench.keras_steps[0]
    order = optimizers.paired(torch_step.before, keras_step.before)
    if order is None or any(g is None for g in [*torch_step.gradients, *keras_step.gradients]):
        return None
    torch = [np.asarray(g, dtype=np.float64) for g in torch_step.gradients]
    raw = [np.asarray(keras_step.gradients[j], dtype=np.float64) for j in order]
    rules = [optimizers.keras_rule_of(keras_step, j) for j in order]
    known = [rule for rule in rules if rule is not None]
    clipped = simulate.clip(known, raw) if len(known) == len(rules) else raw
    tf = [g for g in clipped if g is not None]
    numbers = [abs(v) for _, v in known_numbers.torch_numbers(bench) if v]
    numbers += [abs(float(c.value)) for c in known_numbers.tf_constants(bench) if c.value]
    numbers += [rule.clip[1] for rule in rules if rule is not None and rule.clip is not None]
    backward = [v.array for v in bench.ours if v.backward]
    raws = clipping.raw_candidates(raw, backward, [raw])
    found = clipping.compare(raws, torch, tf, list(dict.fromkeys(numbers))[:30], bench.bound_dtype)
    if found is None:
        return None
    facts = {"torch": found.torch, "tf": found.tf, "bound": found.bound}
    return Direct("gradient-clipping", facts, found.after, 0.3)


def _optimizers(bench: Bench) -> tuple[list[dict[str, Any]], Change | None, bool]:
    """Optimizers inside the functions, simulated from the gradients that they were given."""
    causes = []
    causes += [as_cause(bench, direct) for direct in ordering.handwritten(bench)]
    clip = _clipped(bench)
    if clip is not None:
        causes.append(as_cause(bench, clip))
    for torch, tf, comparison in optimizers.explanations(
        bench.torch_steps, bench.keras_steps, bench.bound_dtype
    ):
        into = causes
        if bench.before.at_first > _ACCOUNTS * comparison.error:
            into = bench.minor  # real, and not what makes the first difference
            bench.residue = _ACCOUNTS * comparison.error
        for part in comparison.parts:
            facts = optimizers.facts_of(part, torch, tf)
            hypothesis = Hypothesis(part.cause, Change(), facts, None, 0.2)
            score = bench.before
            finding = Finding(hypothesis, part.before, score)
            into.append(as_cause(bench, finding, [], after=part.after))
    return causes, None, bool(causes)


def _direct(bench: Bench, *, weak: bool = False) -> list[Direct]:
    """Causes seen in the values alone, the likeliest first."""
    found: list[Direct] = []
    if not gradients.only_gradients(bench):
        found += list(relations.counted(bench))
        found += list(schedules.shapes(bench))
        found += list(relations.conventions(bench, weak=weak))
    again = state.stale(bench)
    if again is not None:
        numbered = re.sub(r"\d+$", "", again[0]) == re.sub(r"\d+$", "", again[1])
        cause = "repeated-value" if numbered else "aliasing"
        found.append(Direct(cause, {"entry": again[0], "equals": again[1]}, 0.0, 0.9))
    return sorted(found, key=lambda d: d.rank)


def _place(bench: Bench) -> dict[str, Any]:
    """The user's lines at which the two computations part, where intermediates show it."""
    found: dict[str, Any] = {}
    ours = bench.suspect
    if ours is not None and ours.place:
        found["tf_line"] = f"{ours.place}: {ours.source}"
    theirs = bench.torch_suspect
    if theirs is not None and theirs.place:
        found["torch_line"] = f"{theirs.place}: {theirs.source}"
    return found
