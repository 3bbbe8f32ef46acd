"""The checks of paired components with one side recorded elsewhere.

Where only torch is installed, a check runs torch and the reference and keeps what torch did; where
only TensorFlow is, it runs TensorFlow and the reference, and torch's part comes from the file. The
NumPy reference runs in both places. Verdicts and numbers are those of one process: what a check
hands from the first side to the others (a layer's input, a forced action) is in the recording.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from parity.component import Recording, Side
from parity.errors import InvalidInput
from parity.fingerprint import fingerprint
from parity.recording.modules import module_from, put_record, put_weights
from parity.recording.sides import StoredSide
from parity.report import Problem, Report, judge
from parity.runner import definition, evidence_wanted, load_siblings, make_sides, report_of
from parity.suite import FRAMEWORKS, SuiteCase
from parity.trace import Trace, join

KIND = "component"


@dataclass(frozen=True)
class Exchange:
    """What a run of the suite does with recordings of one side.

    Attributes:
        record: folder to write one side's recordings to.
        side: which one: ``torch`` or ``tf``.
        against: folder with recordings of the side that is not installed here.
    """

    record: Path | None = None
    side: str | None = None
    against: Path | None = None

    def needs(self, case: SuiteCase) -> tuple[str, ...]:
        """Packages without which the case cannot run here."""
        if self.record is not None:
            return (str(self.side), *case.check.needs)
        if self.against is not None:
            return (_other(stored_side(self.against)), *case.check.needs)
        return case.needs

    def run(self, case: SuiteCase) -> Report:
        """Run both sides; or one, which is recorded, or compared with a recording."""
        if self.record is not None:
            return record_case(case, str(self.side), self.record)
        if self.against is not None:
            return check_case(case, self.against)
        return case.run()


def file_of(case: SuiteCase) -> str:
    """``returns/function.td_target.batch.float32.eager.trace``, relative to the folder."""
    name = f"{case.check.label}.{case.check.case}.{case.dtype}.{case.mode}.trace"
    return f"{case.component.name}/{name.replace('/', '_')}"


@functools.lru_cache
def stored_side(folder: Path) -> str:
    """The side whose recordings a folder holds.

    Raises:
        InvalidInput: it holds none.
    """
    first = next(iter(sorted(folder.glob("*/*.trace"))), None)
    if first is None:
        raise InvalidInput(f"{folder}: no recordings; write some with --parity-record")
    return Trace.load(first).side


def record_case(case: SuiteCase, side: str, folder: Path, *, device: str = "cpu") -> Report:
    """Run one side of a case with the reference, and write what the side did below ``folder``.

    Returns:
        The side against the reference.

    Raises:
        InvalidInput: the side is neither ``torch`` nor ``tf``.
    """
    if side not in FRAMEWORKS:
        raise InvalidInput(f"side {side!r}: a recording is of torch or tf")
    report = _recorded(case, side, folder, device)
    wide = replace(case, dtype="float64")
    evidence = None
    if case.dtype != "float64" and "float64" not in case.check.dtypes:
        evidence = _recorded(wide, side, folder, device)
    if case.dtype != "float64" and evidence_wanted(report):
        report = judge(report, evidence or _recorded(wide, side, folder, device))
    return report.with_(subject={**report.subject, "recorded": side})


def _recorded(case: SuiteCase, side: str, folder: Path, device: str) -> Report:
    sides = _sides_of(case, side, device)
    recording = case.check.record(sides)
    _written(case, side, recording, device).save(folder / file_of(case))
    sources = {name: definition(own.impl, case.check.name) for name, own in sides.items()}
    return report_of(case.component, case.check, recording, sources, case.dtype, case.mode, device)


def check_case(case: SuiteCase, folder: Path, *, device: str = "cpu") -> Report:
    """Check a case on the side that is not recorded in ``folder``.

    Raises:
        InvalidInput: the recording is missing, damaged, or of another check; or a float32 run
            needs its float64 evidence and that was not recorded.
    """
    report = _checked(case, folder, device)
    if case.dtype == "float64" or not evidence_wanted(report):
        return report
    return judge(report, _checked(replace(case, dtype="float64"), folder, device))


def _checked(case: SuiteCase, folder: Path, device: str) -> Report:
    stored = read_side(folder / file_of(case), case)
    sides = _sides_of(case, _other(stored.side), device)
    recording = case.check.record_against(sides, stored)
    sources = {name: definition(own.impl, case.check.name) for name, own in sides.items()}
    sources[stored.side] = stored.source
    order = [name for name in (*FRAMEWORKS, "reference") if name in sources]
    recording.traces = _in_order(recording.traces, order)
    return report_of(
        case.component,
        case.check,
        recording,
        {name: sources[name] for name in order},
        case.dtype,
        case.mode,
        device,
    )


def _in_order(traces: Mapping[str, Trace], order: list[str]) -> dict[str, Trace]:
    """The sides in the order of one process, and behind them their eager twins."""
    twins = [f"{name}-eager" for name in order]
    known = [name for name in (*order, *twins) if name in traces]
    return {name: traces[name] for name in [*known, *(n for n in traces if n not in known)]}


def read_side(path: Path, case: SuiteCase) -> StoredSide:
    """Read what :func:`record_case` wrote.

    Raises:
        InvalidInput: the file is missing, damaged, or holds another check.
    """
    trace = Trace.load(path)
    meta = trace.meta
    if meta.get("kind") != KIND:
        raise InvalidInput(f"{path}: a trace, but not a recording of a component's check")
    if meta.get("subject") != (wanted := _identity(case)):
        raise InvalidInput(f"{path}: recorded for {meta.get('subject')}, not for {wanted}")
    try:
        traces = {str(name): Trace(side=str(name)) for name in meta["sides"]}
        answers: dict[str, dict[str, Any]] = {}
        for name, array in trace.items():
            head, _, rest = name.partition("/")
            side, _, entry = rest.partition("/")
            if head == "entries":
                traces[side].add(entry, array)
            elif head == "answers":
                answers.setdefault(side, {})[entry] = array
        modules = {n: module_from(trace, m, n, case.dtype) for n, m in meta["modules"].items()}
        problems = [Problem(str(k), str(n), d) for k, n, d in meta["problems"]]
        return StoredSide(trace.side, case.dtype, traces, problems, dict(meta["compiles"]),
                          modules, answers, str(meta["source"]))  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"{path}: its metadata are not complete ({error!r})") from None


def _written(case: SuiteCase, side: str, recording: Recording, device: str) -> Trace:
    impl = load_siblings(case.package, (side,))[side]
    kept = {name: own for name, own in recording.traces.items() if name != "reference"}
    trace = Trace(side=side, meta={
        "kind": KIND,
        "subject": _identity(case),
        "device": device,
        "sides": list(kept),
        "problems": [[p.kind, p.name, dict(p.details)] for p in recording.problems],
        "compiles": {n: c for n, c in recording.compiles.items() if n != "reference"},
        "source": definition(impl, case.check.name),
        "environment": fingerprint(),
    })  # fmt: skip
    for name, own in kept.items():
        if name in recording.modules:
            continue  # made again from the recorded pass, together with the other sides
        for entry, array in own.items():
            trace.add(join("entries", name, entry), array)
    for name in kept:
        for entry, array in recording.answers.get(name, {}).items():
            trace.add(join("answers", name, entry), array)
    trace.meta["modules"] = {}
    if side in recording.modules:
        record, module = recording.modules[side]
        held = put_weights(trace, module, record, case.dtype)
        run = put_record(trace, record, case.dtype)
        trace.meta["modules"][side] = {"weights": held, "run": run}
    return trace


def _sides_of(case: SuiteCase, side: str, device: str) -> dict[str, Side]:
    siblings = load_siblings(case.package, (side, "reference"))
    return make_sides(siblings, dtype=case.dtype, mode=case.mode, device=device)


def _identity(case: SuiteCase) -> dict[str, Any]:
    return {"component": case.component.name, "check": case.check.label, "case": case.check.case,
            "dtype": case.dtype, "mode": case.mode}  # fmt: skip


def _other(side: str) -> str:
    return "tf" if side == "torch" else "torch"
