"""A report or a trace as the output of a notebook cell: small, escaped, no script, no network."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from parity.report import Report
    from parity.trace import Trace

ROWS = 20
"""Rows of a table; the rest are counted."""

#: Colours that read on a light and on a dark page; all else is inherited from the notebook.
_COLOURS = {
    "agree": "#2e9e5b",
    "rounding": "#b8860b",
    "chaos": "#b8860b",
    "latent": "#a855c7",
    "diverge": "#d9444a",
    "invalid": "#d9444a",
}
_CELL = "padding:2px 10px;text-align:left;border-bottom:1px solid rgba(128,128,128,.35)"
_TABLE = "border-collapse:collapse;font-size:90%;color:inherit;background:transparent"


def report_cell(report: Report) -> str:
    """Verdict, first difference, causes, and the entries that differ."""
    from parity.message import cause_lines, first_difference, problem_text

    word = str(report.verdict)
    style = f"color:{_COLOURS[word]};font-weight:bold"
    head = f'<span style="{style}">{escape(word.upper())}</span> {escape(report.identifier)}'
    lines = []
    if report.first_divergence is not None:
        lines += first_difference(report, report.first_divergence)
    lines += [problem_text(problem) for problem in report.problems[:ROWS]]
    lines += [line for cause in report.causes for line in cause_lines(cause)]
    text = "".join(f"<div>{escape(line.strip())}</div>" for line in lines)
    rows = [
        [
            e.name,
            "-".join(e.worst.sides),
            f"{e.worst.over}/{e.worst.size}",
            f"{e.worst.max_abs:.1e}",
        ]
        for e in report.failing
    ]
    shown = _table(["entry", "pair", "differing", "max abs"], rows) if rows else ""
    count = f"compared {report.values_compared:,} values in {len(report.entries)} entries"
    return f"<div><div>{head}</div>{text}{shown}<div>{escape(count)}</div></div>"


def trace_cell(trace: Trace) -> str:
    """Names, dtypes, shapes and ranges of the entries."""
    names = trace.names
    rows = []
    for name in names[:ROWS]:
        array = np.asarray(trace[name])
        rows.append([name, str(array.dtype), str(array.shape), *_range(array)])
    head = f"Trace {trace.side}: {len(names)} entries"
    table = _table(["entry", "dtype", "shape", "min", "max"], rows, len(names) - len(rows))
    return f"<div><div>{escape(head)}</div>{table}</div>"


def _range(array: np.ndarray) -> list[str]:
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    if not finite.size or array.dtype.kind not in "biuf":
        return ["", ""]
    return [f"{finite.min():.6g}", f"{finite.max():.6g}"]


def _table(head: list[str], rows: list[list[str]], more: int = 0) -> str:
    shown = rows[:ROWS]
    more += len(rows) - len(shown)
    top = "".join(f'<th style="{_CELL}">{escape(cell)}</th>' for cell in head)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in row) + "</tr>"
        for row in shown
    )
    rest = f"<div>... and {more} more</div>" if more > 0 else ""
    return f'<table style="{_TABLE}"><tr>{top}</tr>{body}</table>{rest}'
