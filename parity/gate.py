"""The regression gate: a run of the suite against the baseline of an earlier one.

It fails where a check fails, where an error grew though it still passes, where a check or some of
its compared values disappeared, and where a compiled step is compiled more often. Pure: two
documents in, findings out. The wording and the output formats are in ``gate_output.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from parity.accepted import Accepted
from parity.errors import InvalidInput
from parity.results import SEVERITY, Row
from parity.tolerance import ERROR_GROWTH, noise_floor
from parity.verdict import Verdict

NUMERIC_FACTS = (
    "processor",
    "cpu",
    "numpy",
    "torch",
    "tensorflow",
    "keras",
    "tf_keras",
    "mujoco",
    "box2d",
    "torch.cuda",
    "TF_ENABLE_ONEDNN_OPTS",
    "OMP_NUM_THREADS",
    "XLA_FLAGS",
)
"""What of an environment decides the last bits of a result; equal here means one platform."""

KEPT = (
    "id",
    "component",
    "case",
    "check",
    "dtype",
    "mode",
    "device",
    "verdict",
    "needed",
    "max_abs",
    "allowed",
    "headroom",
    "values_compared",
    "compiles",
)
"""What a baseline keeps of a row: enough to gate, and to print with ``parity show``."""


@dataclass(frozen=True)
class Finding:
    """One reason to fail, or one note.

    Attributes:
        kind: ``failed``, ``raised``, ``grew``, ``disappeared``, ``values``, ``recompiled``,
            ``exceeded``, ``expired``, ``unused``, ``nothing``; notes: ``new``, ``verdict``,
            ``accepted``, ``platform``.
        id: of the check.
        before, after: the rows that are compared; None where there is none.
        details: what the wording needs beyond the rows.
    """

    kind: str
    id: str
    before: Row | None = None
    after: Row | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GateResult:
    """What the gate found.

    Attributes:
        findings: each one is a reason to fail.
        notes: worth a line, and no reason to fail.
        ids: every check of the baseline and of the report.
    """

    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    ids: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.findings


def gate(
    baseline: Mapping[str, Any],
    report: Mapping[str, Any],
    *,
    accepted: Mapping[str, Accepted] | None = None,
    today: date | None = None,
) -> GateResult:
    """Compare two ``--parity-json`` documents.

    Args:
        baseline: of a run that was accepted, or what :func:`new_baseline` made of it.
        report: of the run to judge.
        accepted: the ledger of accepted differences.
        today: the day that expiry is judged by.

    Raises:
        InvalidInput: the baseline holds no checks, so nothing could disappear; or an id repeats.
    """
    before, after = _by_id(baseline, "the baseline"), _by_id(report, "the report")
    if not before:
        raise InvalidInput("the baseline holds no checks: it would let everything pass")
    changed = platform_changes(baseline, report)
    ledger = _Ledger(dict(accepted or {}), today or date.today())
    findings: list[Finding] = []
    notes = [Finding("platform", "", details={"changes": changed})] if changed else []
    if not after:
        findings.append(Finding("nothing", "", details={"checks": len(before)}))
    for row_id in [*before, *(i for i in after if i not in before)]:
        old, new = before.get(row_id), after.get(row_id)
        if new is None:
            absence = _absence(row_id, report)
            if "errors" not in absence:  # it raised, which is a finding of its own
                findings.append(Finding("disappeared", row_id, old, None, absence))
            continue
        for finding in _judge(row_id, old, new, same_platform=not changed):
            ledger.place(finding, findings, notes)
        notes += _notes(row_id, old, new)
    findings += [
        Finding("raised", error["id"], details={"message": error["message"]})
        for error in report["errors"]
    ]
    findings += ledger.complaints()
    return GateResult(tuple(findings), tuple(notes), tuple(dict.fromkeys([*before, *after])))


def new_baseline(
    report: Mapping[str, Any],
    *,
    accepted: Mapping[str, Accepted] | None = None,
    today: date | None = None,
) -> dict[str, Any]:
    """What is kept of a report to gate later runs by; a document of the same schema.

    Raises:
        InvalidInput: the report is of a run that failed or compared nothing: later runs must not be
            measured by it. A failure that the ledger accepts is none.
    """
    rows = _by_id(report, "the report")
    if not rows:
        raise InvalidInput("no baseline can be made of this report: it holds no checks")
    itself = gate(report, report, accepted=accepted, today=today)
    bad = [f.id for f in itself.findings if f.kind in ("failed", "raised", "exceeded")]
    if bad:
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise InvalidInput(f"no baseline can be made of this report: {bad[0]} failed{more}")
    facts = report["environment"]
    return {
        "schema": report["schema"],
        "totals": report["totals"],
        "environment": {n: facts[n] for n in NUMERIC_FACTS if facts.get(n) is not None},
        "checks": [{n: row[n] for n in KEPT if n in row} for row in rows.values()],
        "skipped": [],
        "errors": [],
    }


def passes(row: Row) -> bool:
    """True for a check that is no failure by itself."""
    return SEVERITY[row["verdict"]] <= SEVERITY[Verdict.CHAOS.value]


def error_of(row: Row) -> float:
    """The largest error of a check, relative to ``max(1, |reference|)``."""
    value = row.get("needed")  # reports written before the field: the largest absolute error
    return float(row["max_abs"] if value is None else value)


def platform_changes(baseline: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, Any]:
    """fact -> (baseline's, report's), for the facts that decide the last bits."""
    one, other = baseline["environment"], report["environment"]
    return {
        name: (one.get(name), other.get(name))
        for name in NUMERIC_FACTS
        if one.get(name) != other.get(name)
    }


def _judge(row_id: str, old: Row | None, new: Row, *, same_platform: bool) -> Iterator[Finding]:
    """What is wrong with a check that ran."""
    if not passes(new):
        yield Finding("failed", row_id, old, new)
        return
    if old is None:
        return
    if new["values_compared"] < old["values_compared"]:
        yield Finding("values", row_id, old, new)
    floor = noise_floor(str(new.get("dtype") or "float32"), same_platform=same_platform)
    limit = ERROR_GROWTH * max(error_of(old), floor)
    if error_of(new) > limit:
        yield Finding("grew", row_id, old, new, {"limit": limit, "floor": floor})
    compiled, was = new.get("compiles") or {}, old.get("compiles") or {}
    more = {side: (was[side], n) for side, n in compiled.items() if n > was.get(side, n)}
    if more:
        yield Finding("recompiled", row_id, old, new, {"sides": more})


def _notes(row_id: str, old: Row | None, new: Row) -> Iterator[Finding]:
    if old is None:
        yield Finding("new", row_id, None, new)
    elif old["verdict"] != new["verdict"] and passes(new):
        yield Finding("verdict", row_id, old, new)


class _Ledger:
    """Which findings the accepted differences excuse, and which entries excused none."""

    def __init__(self, entries: dict[str, Accepted], today: date) -> None:
        self.entries, self.today = entries, today
        self.used: set[str] = set()

    def place(self, finding: Finding, findings: list[Finding], notes: list[Finding]) -> None:
        """Put a finding where it belongs: a reason to fail, or a note if it is accepted."""
        entry = self.entries.get(finding.id)
        row = finding.after
        if entry is None or row is None or not _is_of_numbers(finding, row):
            findings.append(finding)
            return
        self.used.add(entry.id)
        if entry.expired(self.today):
            findings.append(finding)  # and the entry itself, see complaints()
        elif error_of(row) > entry.bound:
            findings.append(_about("exceeded", entry, finding.before, row))
        else:
            notes.append(_about("accepted", entry, finding.before, row))

    def complaints(self) -> Iterator[Finding]:
        """Entries that are past their last day, or that nothing needed."""
        for entry in self.entries.values():
            if entry.expired(self.today):
                yield _about("expired", entry)
            elif entry.id not in self.used:
                yield _about("unused", entry)


def _is_of_numbers(finding: Finding, row: Row) -> bool:
    """Only an error of some size can be accepted: not a shape, a gap, or nothing compared."""
    if finding.kind == "grew":
        return True
    odd = row.get("problem") not in (None, "values") or row.get("problems")
    return finding.kind == "failed" and row["verdict"] != Verdict.INVALID.value and not odd


def _about(
    kind: str, entry: Accepted, before: Row | None = None, after: Row | None = None
) -> Finding:
    details = {
        "bound": entry.bound,
        "reason": entry.reason,
        "link": entry.link,
        "expires": entry.expires.isoformat(),
    }
    return Finding(kind, entry.id, before, after, details)


def _by_id(document: Mapping[str, Any], what: str) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for row in document["checks"]:
        if row["id"] in rows:
            raise InvalidInput(f"{what} has several checks with the id {row['id']}")
        rows[row["id"]] = row
    return rows


def _absence(row_id: str, report: Mapping[str, Any]) -> dict[str, Any]:
    """Why a check is not there, where the report says so."""
    for part, key in (("skipped", "reason"), ("errors", "message")):
        for entry in report[part]:
            if row_id in entry["id"]:
                return {part: entry[key]}
    return {}
