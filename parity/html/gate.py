"""What the gate found as a page: the findings first, then every check of the run it judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parity.gate import GateResult
from parity.gate_output import explain, headline
from parity.html.page import render_page
from parity.html.view import suite_rows
from parity.message import printable


def gate_page(result: GateResult, report: Mapping[str, Any]) -> str:
    """The page of a run of the suite that was judged by an earlier one.

    Args:
        report: the document of the later run, as ``--parity-json`` writes it.
    """
    found = [*result.findings, *result.notes]
    facts = [(f.kind, printable(": ".join(filter(None, (f.id, explain(f)))))) for f in found]
    return render_page(
        f"parity: {headline(result)}",
        [],
        report["environment"],
        checks=suite_rows(report["checks"]),
        passed=result.passed,
        totals=[("gate", "passed" if result.passed else "failed"), *facts],
    )
