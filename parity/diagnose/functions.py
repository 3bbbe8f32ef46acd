"""Why two functions differ: the order in which hypotheses are tried, and what is reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parity.debug.calls import Caller
from parity.debug.functions import Inputs, Run
from parity.diagnose import gradients, masks, operations, values
from parity.diagnose.base import Bench, Finding, search
from parity.report import Report


def explain_functions(
    report: Report, callers: Mapping[str, Caller], inputs: Inputs, base: Run, wide: Run | None
) -> Report:
    """Try hypotheses on the pair and put those that remove the difference into the report."""
    bench = Bench(callers, inputs, wide if wide is not None else base)
    if bench.before.first is None:
        return report
    findings = search(bench, tiers(bench))
    causes = [as_cause(bench, f) for f in findings[:6]]
    print("   tried", bench.tried, "suspect", bench.suspect and (bench.suspect.op, bench.suspect.source))
    return report.with_(causes=tuple(causes))


def tiers(bench: Bench):
    first = [gradients.stops, gradients.ties] if gradients.only_gradients(bench) else []
    return [
        *first,
        operations.families,
        operations.axes,
        values.named_constants,
        operations.layouts,
        values.complements,
        values.operation_constants,
        operations.bypasses,
        operations.wraps,
        values.factors,
        values.solved_constants,
        values.solved_operands,
        masks.masks,
        masks.shifts,
        masks.operands,
    ]


def as_cause(bench: Bench, finding: Finding) -> dict[str, Any]:
    h = finding.hypothesis
    return {"cause": h.cause, "text": f"{h.cause} {dict(h.facts)} {h.site and (h.site.op, h.site.source)}", "before": finding.before, "after": finding.score.error if finding.complete else finding.score.at_first, "fix": "", "place": h.place or (h.site.place if h.site else ""), "docs": "", "alternatives": ()}
