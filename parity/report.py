"""The outcome of a comparison: every entry of every side, the verdict, and the evidence.

A report is data. Its wording stands in ``message.py``, its JSON form here (``schema`` 1).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import combinations
from typing import Any

from parity import details, progress, spill
from parity.align import Unmatched, merge_order, unmatched
from parity.compare import Difference, compare_arrays
from parity.errors import InvalidInput
from parity.tolerance import Tolerance, default_tolerance
from parity.trace import Trace
from parity.verdict import Verdict, decide

SCHEMA = 1


@dataclass(frozen=True)
class Problem:
    """A reason why the comparison proves nothing, or a finding that is not a number.

    ``kind`` is ``nothing-compared``, ``empty``, ``all-zero``, ``same-object``, ``unmatched``,
    ``order``, ``broadcast``, ``gradient``, ``layer-error``, ``retrace``, ``parted`` or
    ``unreadable``, ``statistics``; the wording is made in ``message.py`` from ``details``.
    """

    kind: str
    name: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def vacuous(self) -> bool:
        """True where the comparison itself is void, rather than the subject wrong."""
        return self.kind in (
            "nothing-compared",
            "empty",
            "all-zero",
            "no-finite",
            "same-object",
            "unreadable",
            "statistics",
        )


@dataclass(frozen=True)
class Entry:
    """One name, compared over every pair of sides that hold it."""

    name: str
    differences: tuple[Difference, ...]
    tolerance: Tolerance
    detail: Mapping[str, Any] | None = None
    """Histograms and worst places, where :mod:`parity.details` was asked to collect them."""

    @property
    def agrees(self) -> bool:
        return all(d.agrees for d in self.differences)

    @property
    def worst(self) -> Difference:
        """The pair furthest apart: structural problems first, then by share of the tolerance."""
        return max(self.differences, key=lambda d: (d.structural, d.headroom, d.needed, d.max_abs))

    def pair(self, left: str, right: str) -> Difference | None:
        """The difference of one pair of sides, in either order."""
        return next((d for d in self.differences if set(d.sides) == {left, right}), None)


@dataclass(frozen=True)
class Report:
    """What was compared and what came of it.

    Attributes:
        subject: what was compared: ``component``, ``case``, ``check``, ``dtype``, ``mode``,
            ``device``; free keys are allowed.
        entries: in execution order.
        problems: findings that are not differences of numbers.
        verdict: the answer.
        evidence: the float64 run that a ``rounding`` or ``diverge`` verdict rests on.
        causes: explanations that were tried and that remove the difference.
        reproduce: a command that shows the same again.
    """

    sides: tuple[str, ...]
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...] = ()
    verdict: Verdict = Verdict.INVALID
    subject: Mapping[str, Any] = field(default_factory=dict)
    evidence: Report | None = None
    causes: tuple[Mapping[str, Any], ...] = ()
    reproduce: str = ""

    @property
    def passed(self) -> bool:
        return self.verdict.passes

    @property
    def values_compared(self) -> int:
        """Elements compared, each counted once however many pairs of sides hold it."""
        return sum(max((d.size for d in e.differences), default=0) for e in self.entries)

    @property
    def failing(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if not entry.agrees)

    @property
    def excusable(self) -> bool:
        """True where only differences of floating values were found: rounding may explain them."""
        apart = any(not d.excusable for e in self.entries for d in e.differences)
        return not apart and all(p.vacuous for p in self.problems)

    @property
    def first_divergence(self) -> Entry | None:
        """The first entry, in execution order, that differs between torch and tf.

        Where these agree with each other and only the reference is apart, the first such entry.
        An entry that agrees in the float64 evidence, while others do not, is rounding: the first
        of the others comes first.
        """
        pair = [s for s in self.sides if s != "reference"][:2]
        apart = [
            entry
            for entry in self.failing
            if len(pair) == 2 and (d := entry.pair(*pair)) is not None and not d.agrees
        ]
        wide = {e.name for e in self.evidence.failing} if self.evidence is not None else set()
        real = [entry for entry in apart if entry.name in wide]
        return next(iter([*real, *apart, *self.failing]), None)

    @property
    def worst(self) -> Difference | None:
        """The pair of arrays that used the largest share of its tolerance."""
        if not self.entries:
            return None
        return max(
            (entry.worst for entry in self.entries),
            key=lambda d: (d.structural, d.headroom, d.needed, d.max_abs),
        )

    def summary(self) -> dict[str, Any]:
        """One row of ``--parity-json``."""
        worst, first = self.worst, self.first_divergence
        differences = [d for e in self.entries for d in e.differences]
        subject = {k: self.subject.get(k) for k in _SUBJECT_KEYS}
        return {
            "id": self.identifier,
            **subject,
            "verdict": str(self.verdict),
            "max_abs": max((d.max_abs for d in differences), default=0.0),
            "max_rel": max((d.max_rel for d in differences), default=0.0),
            "max_ulp": max((d.max_ulp for d in differences), default=0.0),
            "needed": max((d.needed for d in differences), default=0.0),
            "allowed": worst.allowed if worst else 0.0,
            "headroom": _json_number(worst.headroom) if worst else None,
            "problem": worst.problem if worst else None,
            "values_compared": self.values_compared,
            "compiles": dict(self.subject.get("compiles") or {}),
            "first_divergence": first.name if first else None,
            "problems": [{"kind": p.kind, "name": p.name, **p.details} for p in self.problems],
            "causes": [dict(c) for c in self.causes],
            "evidence": self.evidence.summary() if self.evidence else None,
        }

    @property
    def identifier(self) -> str:
        """``component/check[case]-dtype-mode``; unique within a run of the suite."""
        s = self.subject
        head = "/".join(str(s[k]) for k in ("component", "check") if s.get(k))
        tail = "-".join(str(s[k]) for k in ("dtype", "mode") if s.get(k))
        case = f"[{s['case']}]" if s.get("case") else ""
        return f"{head}{case}-{tail}".strip("-") or "comparison"

    def to_json(self) -> str:
        """The whole report, entry by entry."""
        document = {
            "schema": SCHEMA,
            **self.summary(),
            "sides": list(self.sides),
            "subject": dict(self.subject),
            "reproduce": self.reproduce,
            "entries": [_entry_json(entry) for entry in self.entries],
        }
        return json.dumps(_strict(document), indent=1, default=str, allow_nan=False)

    def with_(self, **changes: Any) -> Report:
        """A copy with some fields replaced."""
        return replace(self, **changes)

    def __str__(self) -> str:
        from parity.message import render

        return render(self)

    def _repr_html_(self) -> str:
        """What a notebook shows for it."""
        from parity.html.cell import report_cell

        return report_cell(self)


_SUBJECT_KEYS = ("component", "case", "check", "dtype", "mode", "device")


def build_report(
    traces: Mapping[str, Trace],
    *,
    tolerances: Mapping[str, Tolerance] | None = None,
    expect_zero: Iterable[str] = (),
    problems: Iterable[Problem] = (),
    subject: Mapping[str, Any] | None = None,
    dtype: str | None = None,
) -> Report:
    """Compare the traces entry by entry over every pair of sides.

    Args:
        traces: side name -> trace, in the order in which sides are reported. The side called
            ``reference`` may hold float64 values where the others hold float32.
        tolerances: glob of entry names -> tolerance; the first match wins, then the default of
            the entry's dtype.
        expect_zero: globs of entries that are zero on purpose.
        problems: findings of the recorder, judged together with the differences.
        dtype: the floating dtype of this run; decides the entries' default tolerance.
    """
    if len(traces) < 2:
        raise InvalidInput(f"a comparison needs two sides, got {', '.join(traces) or 'none'}")
    entries, found = [], [*problems]
    found += [_unmatched_problem(u) for u in unmatched(traces)]
    if len({id(trace) for trace in traces.values()}) < len(traces):
        found.append(Problem("same-object", details={"sides": list(traces)}))
    expected = tuple(expect_zero)
    names = merge_order([trace.names for trace in traces.values()])
    with progress.work(len(names), "entries"):
        for name in names:
            entries.append(_compare_entry(name, traces, tolerances or {}, dtype))
            progress.did("entries")
    silent = all(d.zero for e in entries for d in e.differences)
    found += [p for entry in entries for p in _vacuity(entry, expected, whole=silent)]
    found += _unproved(entries)
    if sum(d.size for e in entries for d in e.differences) == 0 and not any(
        d.structural for e in entries for d in e.differences
    ):
        found.append(Problem("nothing-compared", details={"sides": list(traces)}))
    report = Report(tuple(traces), tuple(entries), tuple(found), subject=dict(subject or {}))
    return judge(report)


def judge(report: Report, evidence: Report | None = None) -> Report:
    """Give the report its verdict, with a float64 run as evidence where there is one."""
    structural = not report.excusable
    within = not report.failing
    verdict = decide(
        # a difference is a difference, whatever else the comparison failed to show
        valid=structural or not within or not any(p.vacuous for p in report.problems),
        within_float32=within,
        within_float64=None if evidence is None else evidence.verdict is Verdict.AGREE,
        structural=structural,
    )
    return report.with_(verdict=verdict, evidence=evidence)


def _compare_entry(
    name: str, traces: Mapping[str, Trace], tolerances: Mapping[str, Tolerance], dtype: str | None
) -> Entry:
    arrays = {side: trace.entry(name) if name in trace else None for side, trace in traces.items()}
    present = [a for side, a in arrays.items() if a is not None and side != "reference"]
    sample = present[0] if present else next(a for a in arrays.values() if a is not None)
    entry_dtype = dtype if dtype is not None and sample.dtype.kind == "f" else str(sample.dtype)
    tolerance = next((t for g, t in tolerances.items() if fnmatchcase(name, g)), None)
    if tolerance is None or sample.dtype.kind in "biu":
        tolerance = default_tolerance(entry_dtype)
    reference = arrays.get("reference")
    differences = tuple(
        compare_arrays(
            arrays[left],
            arrays[right],
            name=name,
            sides=(left, right),
            tolerance=tolerance,
            reference=reference,
            check_dtype="reference" not in (left, right),
        )
        for left, right in combinations(traces, 2)
    )
    entry = Entry(name, differences, tolerance, _detail(arrays, differences))
    if spill.is_large(sample):
        spill.forget()
    return entry


def _detail(
    arrays: Mapping[str, Any], differences: tuple[Difference, ...]
) -> Mapping[str, Any] | None:
    if not details.wanted():
        return None
    pair = next((d.sides for d in differences if "reference" not in d.sides), differences[0].sides)
    return details.detail(arrays, pair)


def _vacuity(entry: Entry, expected: tuple[str, ...], *, whole: bool) -> list[Problem]:
    if any(d.structural for d in entry.differences):
        return []
    if all(d.size == 0 for d in entry.differences):
        return [Problem("empty", entry.name)]
    if any(fnmatchcase(entry.name, glob) for glob in expected):
        return []
    if not any(d.finite for d in entry.differences):
        return [Problem("no-finite", entry.name)]
    # all-False masks and zero counters are ordinary where something else is not zero (`whole`: the
    # comparison holds nothing but zeros); an all-zero activation is a dead test
    counts = whole or any("float" in str(dt) for d in entry.differences for dt in d.dtypes)
    if counts and all(d.zero for d in entry.differences):
        return [Problem("all-zero", entry.name)]
    return []


def _unproved(entries: list[Entry]) -> list[Problem]:
    """One finding for all entries of which a side kept statistics that prove nothing."""
    open_ = {e.name: max(d.unproved for d in e.differences) for e in entries if e.agrees}
    open_ = {name: count for name, count in open_.items() if count}
    if not open_:
        return []
    details = {"entries": len(open_), "values": sum(open_.values())}
    return [Problem("statistics", next(iter(open_)), details)]


def _unmatched_problem(u: Unmatched) -> Problem:
    details = {
        "present": list(u.present),
        "missing": list(u.missing),
        "suggestion": u.suggestion,
    }
    return Problem("unmatched", u.name, details)


def _entry_json(entry: Entry) -> dict[str, Any]:
    rows = [{k: _json_number(v) for k, v in asdict(d).items()} for d in entry.differences]
    return {"name": entry.name, "tolerance": asdict(entry.tolerance), "differences": rows}


def _strict(value: Any) -> Any:
    """A copy without infinities and NaN, which strict JSON lacks, at any depth."""
    if isinstance(value, Mapping):
        return {str(key): _strict(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(v) for v in value]
    return _json_number(value)


def _json_number(value: Any) -> Any:
    """JSON has no infinity and no NaN: they become strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, tuple):
        return [_json_number(v) for v in value]
    return value
