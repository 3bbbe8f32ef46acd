"""The terminal summary: a table line per component and check, then the totals.

Lines are at most :data:`WIDTH` columns of ASCII and carry a style name; whoever prints them
decides what, if anything, the style looks like.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from parity.results import SEVERITY, Results, Row
from parity.text import printable
from parity.verdict import Verdict

WIDTH = 80
_SHOWN = 5
"""How many ids of one kind are listed before the rest is only counted."""


class Line(NamedTuple):
    """One line of text and how it should look: ``green``, ``yellow``, ``red`` or plain."""

    text: str
    style: str = ""


def summary_lines(results: Results, *, table: bool = True) -> list[Line]:
    """The whole summary; with ``table=False`` only what does not agree, and the totals."""
    rows = results.checks
    if not table:
        rows = [row for row in rows if row["verdict"] != Verdict.AGREE.value]
    return [*table_lines(rows), *total_lines(results)]


def table_lines(rows: Iterable[Row]) -> list[Line]:
    """A heading and a line per component and check; the worst row of each leads."""
    groups = _grouped(rows)
    return [Line(_HEADER), *map(_table_line, groups)] if groups else []


def results_table(rows: Iterable[Row]) -> list[str]:
    """:func:`table_lines` as plain text."""
    return [line.text for line in table_lines(rows)]


def total_lines(results: Results) -> list[Line]:
    """Checks and verdicts; then, loudly, what was skipped and why, and what raised."""
    totals = results.totals()
    counts = ", ".join(f"{totals[v]} {v}" for v in SEVERITY if totals[v]) or "none ran"
    bad = totals["errors"] + sum(totals[v.value] for v in Verdict if not v.passes)
    style = "red" if bad else "green" if totals["checks"] else "yellow"
    text = f"{_checks(totals['checks'])}: {counts}; {totals['values_compared']:,} values compared"
    lines = [Line(line, style) for line in _wrap(text)]
    if results.skipped:
        reasons = Counter(results.skipped.values()).most_common()
        why = "; ".join(f"{reason} ({count})" for reason, count in reasons)
        text = f"SKIPPED {_checks(len(results.skipped))}: {why}"
        lines += [Line(line, "yellow") for line in _wrap(text)]
    lines += _listed(results.errors, "RAISED before a verdict", "red")
    lines += _listed(results.silent, "COMPARED NOTHING though marked parity", "yellow")
    lines += _listed(results.duplicates, "SAME ID for several checks", "red")
    return lines


def error_figure(row: Row) -> float:
    """The error at the element that used the largest share of its tolerance."""
    headroom, allowed = _number(row["headroom"]), _number(row["allowed"])
    return headroom * allowed if allowed and headroom < float("inf") else _number(row["max_abs"])


_HEADER = f"{'component':<13} {'check':<25} {'worst':>7} {'allowed':>8} {'used':>5} "
_HEADER += f"{'verdict':<8} {'values':>7}"


def _grouped(rows: Iterable[Row]) -> list[list[Row]]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((str(row["component"]), str(row["check"])), []).append(row)
    return [groups[key] for key in sorted(groups)]


def _worst(group: list[Row]) -> Row:
    return max(group, key=lambda r: (SEVERITY[r["verdict"]], _number(r["headroom"])))


def _table_line(group: list[Row]) -> Line:
    row = _worst(group)
    verdict = Verdict(row["verdict"])
    style = "red" if not verdict.passes else "" if verdict is Verdict.AGREE else "yellow"
    values = sum(r["values_compared"] for r in group)
    return Line(
        f"{_cut(row['component'], 13):<13} {_cut(row['check'], 25):<25} {_figure(row):>7} "
        f"{_number(row['allowed']):>8.1e} {_share(row):>5} {verdict.value:<8} {_count(values):>7}",
        style,
    )


def _figure(row: Row) -> str:
    """The error, or the word for a difference that is not a number."""
    kinds = [row.get("problem"), *(p["kind"] for p in row.get("problems", ()))]
    for kind in kinds:
        if kind not in (None, "values"):
            return _SHORT.get(str(kind), str(kind))[:7]
    return f"{error_figure(row):.1e}"


_SHORT = {
    "non-finite": "nan/inf",
    "nothing-compared": "nothing",
    "all-zero": "zeros",
    "same-object": "same",
    "unmatched": "missing",
    "broadcast": "shape",
    "gradient": "grad",
}


def _share(row: Row) -> str:
    share = _number(row["headroom"])
    if share == float("inf"):
        return "over"
    return f"{share:.0%}" if share < 10 else f"{share:.0f}x" if share < 9999 else ">9999"


def _count(values: int) -> str:
    if values < 1_000_000:
        return f"{values:,}"
    return f"{values / 1e6:.1f}M" if values < 1e9 else f"{values / 1e9:.1f}G"


def _checks(count: int) -> str:
    return f"{count:,} check" if count == 1 else f"{count:,} checks"


def _listed(names: Iterable[str], title: str, style: str) -> list[Line]:
    ordered = sorted(names)
    if not ordered:
        return []
    lines = [Line(f"{title}: {len(ordered)}", style)]
    lines += [Line(f"  {_cut(name, WIDTH - 2)}", style) for name in ordered[:_SHOWN]]
    if len(ordered) > _SHOWN:
        lines.append(Line(f"  ... and {len(ordered) - _SHOWN} more", style))
    return lines


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _cut(text: Any, width: int) -> str:
    """At most ``width`` ASCII characters; the end tells names apart, so it is kept."""
    shown = printable(str(text if text is not None else "-")).encode("ascii", "replace").decode()
    if len(shown) <= width:
        return shown
    head = width // 3
    return shown[:head] + ".." + shown[head + 2 - width :]


def _number(value: Any) -> float:
    """Rows that crossed JSON carry infinity and NaN as strings."""
    return float(value) if value is not None else 0.0
