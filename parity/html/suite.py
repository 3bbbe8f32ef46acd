"""A run of the suite as a page: every check in a table, and what did not pass in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parity.html.page import render_page
from parity.html.view import suite_rows
from parity.results import Results, environment

FULL = 20
"""Reports shown in full; the table has the rest."""


def suite_page(results: Results, shown: Sequence[Mapping[str, Any]]) -> str:
    """The page of a run.

    Args:
        shown: views of the reports that did not pass, as they came through JSON.
    """
    totals = results.totals()
    bad = totals["diverge"] + totals["latent"] + totals["invalid"]
    raised = len(results.errors)
    verdict = f"{totals['checks']:,} checks passed" if totals["checks"] else "no check ran"
    if bad or raised:
        said = [f"{bad} of {totals['checks']:,} checks failed"] if bad else []
        verdict = ", ".join([*said, *([f"{raised} raised"] if raised else [])])
    facts = [(name.replace("_", " "), f"{count:,}") for name, count in totals.items() if count]
    facts += [("raised", f"{name}: {text}") for name, text in sorted(results.errors.items())]
    cut = len(shown) - FULL
    if cut > 0:
        facts.append(("in full", f"the first {FULL}; {cut} more failed"))
    return render_page(
        f"parity: {verdict}",
        [_restored(view) for view in shown[:FULL]],
        environment(),
        checks=suite_rows(results.checks),
        totals=facts,
        passed=None if not (totals["checks"] or raised) else not (bad or raised),
    )


def _restored(value: Any) -> Any:
    """JSON spells infinity and NaN as strings; where a number belongs they become numbers again."""
    numbers = {"headroom", "gradient", "max_abs", "max_rel", "max_ulp", "allowed", "max_abs64",
               "before", "after", "propagated32", "propagated64", "local32", "local64"}  # fmt: skip
    if isinstance(value, Mapping):
        return {
            k: float(v) if k in numbers and isinstance(v, str) else _restored(v)
            for k, v in value.items()
        }
    return [_restored(v) for v in value] if isinstance(value, list) else value
