"""Reports as Markdown for a pull request or a job summary, under GitHub's limit of its size.

What failed comes first, each check in a part that opens; what does not fit is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parity.message import cut, printable

if TYPE_CHECKING:
    from parity.report import Report
    from parity.results import Results

LIMIT = 1_000_000
"""Bytes of one summary; GitHub takes 1 MiB of a step, and other tools of the step write there."""
REPORT = 60_000
"""Bytes of one report."""
_NAME = 300
_TAIL = 400
"""Bytes kept for the sentence that counts what was cut."""


def report_markdown(report: Report, *, limit: int = LIMIT) -> str:
    """One report: a heading with the verdict, and the whole text in a part that opens."""
    from parity.message import render

    return _document(_title(report), [_part(_shown(report), render(report))], limit)


def suite_markdown(
    results: Results, failed: Sequence[Mapping[str, Any]], *, limit: int = LIMIT
) -> str:
    """A run of the suite.

    Args:
        failed: ``id`` and ``text`` of each report that did not pass, in order.
        limit: bytes that may be used.
    """
    from parity.summary import results_table, total_lines

    totals = [line.text.strip() for line in total_lines(results)]
    bad = len(failed) + len(results.errors)
    title = f"### Parity: {totals[0]}" if not bad else f"### Parity: {bad} failed; {totals[0]}"
    parts = [_part(f"✖ {row['id']}", str(row["text"])) for row in failed]
    parts += [_part(f"✖ {name}: raised", text) for name, text in sorted(results.errors.items())]
    table = results_table(results.checks)
    if table:
        parts.append(_part(f"All {len(results.checks):,} checks", "\n".join([*table, *totals])))
    return _document(title, parts, limit)


def append_markdown(path: Path, text: str) -> None:
    """Add to a file, as a job summary wants it: the steps of a job share one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def _document(title: str, parts: Iterable[str], limit: int) -> str:
    """The parts that fit, and a count of those that do not."""
    lines, used, cut_ = [f"{title}\n"], len(title.encode()) + _TAIL, 0
    for part in parts:
        size = len(part.encode()) + 1
        if used + size > limit:
            cut_ += 1
            continue
        lines.append(part)
        used += size
    if cut_:
        lines.append(f"{cut_} more did not fit here: the log of the run has them.\n")
    return "\n".join(lines) + "\n"


def _part(summary: str, text: str) -> str:
    """A part that opens. A fence longer than any in the text cannot be closed by it."""
    body = "\n".join(printable(line) for line in text.splitlines())
    kept = body.encode()[:REPORT].decode(errors="ignore")
    if len(kept) < len(body):
        kept = kept[: kept.rindex("\n")] if "\n" in kept else kept
        kept += f"\n... {len(body.splitlines()) - len(kept.splitlines())} lines cut"
    longest = max((len(run) for run in _ticks(kept)), default=0)
    fence = "`" * max(3, longest + 1)
    name = escape(cut(printable(summary), _NAME))
    return f"<details><summary>{name}</summary>\n\n{fence}text\n{kept}\n{fence}\n\n</details>\n"


def _ticks(text: str) -> Iterable[str]:
    import re

    return re.findall("`+", text)


def _title(report: Report) -> str:
    return f"### Parity: {str(report.verdict).upper()} {_code(report.identifier)}"


def _shown(report: Report) -> str:
    first = report.first_divergence
    cause = next((str(c["cause"]) for c in report.causes if c.get("cause")), "")
    what = f"first difference: {first.name}" if first is not None else "the report"
    return what + (f"; cause: {cause}" if cause else "")


def _code(text: str) -> str:
    return f"<code>{escape(cut(printable(text), _NAME))}</code>"
