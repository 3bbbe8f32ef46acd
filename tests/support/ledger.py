"""The checks that are allowed the verdict ``rounding``: a table in ``docs/tolerances.md``.

A row names the check's id, the largest error it may have (relative to ``max(1, |reference|)``) and
why float32 cannot hold less. A ``rounding`` that is not listed fails, one above its bound fails,
and so does a row whose check agrees with room to spare, or does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from parity.report import Report
from parity.verdict import Verdict

LEDGER = Path(__file__).parents[2] / "docs" / "tolerances.md"
BEGIN, END = "<!-- accepted rounding: begin -->", "<!-- accepted rounding: end -->"

ROOM = 0.5
"""A listed check that uses less than this share of its tolerance has no need of its row. Between
this and 1 another machine's order of summation may decide, so both verdicts are accepted."""


@dataclass(frozen=True)
class Accepted:
    """One row of the table."""

    id: str
    at_most: float
    because: str


def read_ledger(path: Path) -> dict[str, Accepted]:
    """The rows of the table between the two markers, by id.

    Raises:
        ValueError: a marker is missing, or a row is not ``| `id` | number | reason |``.
    """
    text = path.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{path}: needs {BEGIN!r} and {END!r}, once each")
    block = text.split(BEGIN)[1].split(END)[0]
    rows = [line.strip() for line in block.splitlines() if line.strip().startswith("|")]
    found: dict[str, Accepted] = {}
    for row in rows[2:]:  # the heading and the line under it
        entry = _parse(row, path)
        if entry.id in found:
            raise ValueError(f"{path}: {entry.id} is listed twice")
        found[entry.id] = entry
    return found


def complaint(report: Report, accepted: Mapping[str, Accepted]) -> str | None:
    """What is wrong between a report that passes and the table; None where they fit."""
    entry = accepted.get(report.identifier)
    worst = report.worst
    needed = max((d.needed for e in report.entries for d in e.differences), default=0.0)
    if report.verdict is Verdict.ROUNDING:
        row = f"| `{report.identifier}` | {needed:.1e} | why float32 cannot hold less |"
        if entry is None:
            return f"rounding, and not listed in {LEDGER.name}: find out why, then add\n{row}"
        if needed > entry.at_most:
            return f"rounding of {needed:.2e}, over the {entry.at_most:.2e} in {LEDGER.name}"
    elif entry is not None and (worst is None or worst.headroom < ROOM):
        return f"listed in {LEDGER.name} as rounding, but it agrees: take the row out"
    return None


def _parse(row: str, path: Path) -> Accepted:
    match = re.fullmatch(r"\|\s*`([^`]+)`\s*\|\s*([0-9.eE+-]+)\s*\|\s*(\S.*?)\s*\|", row)
    if match is None:
        raise ValueError(f"{path}: not a row of `id`, number and reason: {row}")
    return Accepted(match[1], float(match[2]), match[3])
