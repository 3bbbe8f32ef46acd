"""``parity gate`` on files: reads two results, writes what was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from parity import gate_output
from parity.accepted import read_accepted
from parity.errors import InvalidInput
from parity.gate import gate, new_baseline
from parity.results import read_results
from parity.summary import Line
from parity.trace import write_atomic


@dataclass(frozen=True)
class Outputs:
    """Where the findings go besides the terminal; ``as_json`` prints them as JSON instead."""

    junit: Path | None = None
    markdown: Path | None = None
    html: Path | None = None
    as_json: bool = False


def run_gate(
    baseline: Path, report: Path, accepted: Path | None, outputs: Outputs
) -> tuple[list[Line], bool]:
    """Judge a report by a baseline.

    Returns:
        The lines to print, and whether the gate passed.

    Raises:
        InvalidInput: a file is missing, holds something else, or cannot be written.
    """
    ledger = {} if accepted is None else read_accepted(accepted)
    document = read_results(report)
    result = gate(read_results(baseline), document, accepted=ledger)
    try:
        if outputs.junit is not None:
            write_atomic(outputs.junit, gate_output.junit(result))
        if outputs.markdown is not None:  # a job summary belongs to several steps: append
            with outputs.markdown.open("a", encoding="utf-8") as file:
                file.write(gate_output.markdown(result))
        if outputs.html is not None:
            from parity.html.gate import gate_page
            from parity.html.page import write_page

            write_page(outputs.html, gate_page(result, document))
    except OSError as error:
        raise InvalidInput(f"cannot write {error.filename}: {error.strerror}") from None
    if outputs.as_json:
        return [Line(gate_output.as_json(result))], result.passed
    return gate_output.terminal(result), result.passed


def update_baseline(baseline: Path, report: Path, accepted: Path | None) -> list[Line]:
    """Make a report the new baseline; returns the lines that say what changed.

    Raises:
        InvalidInput: as above, or the report is of a run that failed; nothing is written then.
    """
    before = read_results(baseline) if baseline.exists() else None
    ledger = {} if accepted is None else read_accepted(accepted)
    after = new_baseline(read_results(report), accepted=ledger)
    try:
        write_atomic(baseline, gate_output.baseline_text(after).encode())
    except OSError as error:
        raise InvalidInput(f"cannot write {baseline}: {error.strerror}") from None
    return [*gate_output.baseline_diff(before, after), Line(f"written: {baseline}")]
