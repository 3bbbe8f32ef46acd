"""Golden traces: what a check computed when it was last accepted, kept in small files.

A run of the suite compares both frameworks with each other and with the reference. A change that
hits all of them alike (a shared input, a rewritten equation, the harness itself) leaves them equal;
only a value that was written down before shows it. On a machine with one framework, the goldens
stand in for the other.

A file holds one case of one check: the reference in float64 and each side's CPU run in float32 and
float64, as entries ``<dtype>/<side>/<name>`` of one trace. (Checks that force a state on the sides
round it in a float32 run, so the reference is another there; elsewhere it is stored once.)
``MANIFEST.json`` beside them says what each file is and where it was made. The harness reads them;
one script of the repository writes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from parity.component import Check, Component
from parity.errors import InvalidInput
from parity.report import Report, build_report
from parity.runner import make_sides, recorded
from parity.trace import Trace, join

MANIFEST = "MANIFEST.json"
SCHEMA = 1
FACTS = ("sha256", "bytes", "component", "check", "case", "seed", "reason", "command", "versions")
"""What the manifest says of every file."""
Run = tuple[str, str]
"""Dtype and side."""


@dataclass
class Golden:
    """The traces of one case, by dtype and side."""

    component: str
    check: str
    case: str
    traces: dict[Run, Trace] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """``returns/function.td_target.batch.safetensors``, relative to the folder."""
        return golden_file(self.component, self.check, self.case)

    def sides(self, dtype: str) -> dict[str, Trace]:
        """Side -> its trace of the run in this dtype."""
        found = {side: trace for (run, side), trace in self.traces.items() if run == dtype}
        if found and ("float64", "reference") in self.traces:
            found.setdefault("reference", self.traces["float64", "reference"])
        return found

    def save(self, folder: Path) -> Path:
        """Write the file; returns its path."""
        whole = Trace(meta={"component": self.component, "check": self.check, "case": self.case})
        for (dtype, side), trace in self.traces.items():
            for name, array in trace.items():
                whole.add(join(dtype, side, name), array)
        path = folder / self.file
        whole.save(path)
        return path


def golden_file(component: str, check: str, case: str) -> str:
    """The path of a golden below its folder."""
    return f"{component}/{check}.{case}.safetensors"


def load_golden(path: Path) -> Golden:
    """Read a file that :meth:`Golden.save` wrote.

    Raises:
        InvalidInput: the file is missing, damaged, or holds something else.
    """
    whole = Trace.load(path)
    try:
        meta = whole.meta
        golden = Golden(str(meta["component"]), str(meta["check"]), str(meta["case"]))
        for name, array in whole.items():
            dtype, side, entry = name.split("/", 2)
            golden.traces.setdefault((dtype, side), Trace(side=side)).add(entry, array)
    except (KeyError, ValueError):
        raise InvalidInput(f"{path}: a trace, but not a golden one") from None
    return golden


def golden_checks(component: Component) -> list[Check]:
    """The cases that have a golden: of each kind and name the first, and the first that needs no
    package beyond the frameworks. Of whole updates, which are large, only the latter.

    Only checks that run in eager mode: a golden is compared with every other mode.
    """
    by_label: dict[str, list[Check]] = {}
    for check in component.checks:
        if "eager" in check.modes:
            by_label.setdefault(check.label, []).append(check)
    chosen = []
    for checks in by_label.values():
        plain = next((check for check in checks if not check.needs), checks[0])
        both = plain is not checks[0] and plain.kind not in WHOLE_UPDATES
        chosen += [checks[0], plain] if both else [plain]
    return chosen


def record_runs(
    check: Check,
    siblings: Mapping[str, ModuleType],
    *,
    dtypes: Collection[str] | None = None,
    mode: str = "eager",
    device: str = "cpu",
    keep: bool = False,
) -> dict[Run, Trace]:
    """Run a check and keep what a golden keeps of it.

    Args:
        dtypes: of the check's; all of them by default.
        keep: see :func:`parity.runner.recorded`.
    """
    runs: dict[Run, Trace] = {}
    for dtype in check.dtypes if dtypes is None else dtypes:
        sides = make_sides(siblings, dtype=dtype, mode=mode, device=device)
        for side, trace in recorded(check, sides, keep=keep).traces.items():
            runs[dtype, side] = thinned(trace)
    return runs


def make_golden(component: Component, check: Check, siblings: Mapping[str, ModuleType]) -> Golden:
    """The golden of a check as it computes now, on the CPU, in eager mode."""
    golden = Golden(component.name, check.label, check.case, record_runs(check, siblings))
    twice = golden.traces.get(("float32", "reference")), golden.traces.get(("float64", "reference"))
    if twice[0] is not None and twice[1] is not None and _identical(twice[0], twice[1]):
        del golden.traces["float32", "reference"]
    return golden


WHOLE_UPDATES = ("composed", "lockstep")
LONG = 60
"""Entries above which a trace is thinned."""
_REPEATED = re.compile(r"(?:update|step)?/?(\d+)/")


def thinned(trace: Trace) -> Trace:
    """Of a long trace of repeated steps the last, and what is outside of steps.

    What happened before shows in it: state goes on from step to step.
    """
    if len(trace) <= LONG:
        return trace
    steps = {name: _REPEATED.match(name) for name in trace}
    numbers = sorted({int(match[1]) for match in steps.values() if match})
    kept = set(numbers[-1:])
    short = Trace(side=trace.side, meta=trace.meta)
    for name, array in trace.items():
        match = steps[name]
        if match is None or int(match[1]) in kept:
            short.add(name, array)
    return short


def compare_with_golden(
    golden: Golden,
    runs: Mapping[Run, Trace],
    check: Check,
    dtype: str,
    *,
    tolerances: Mapping[str, Any] | None = None,
    subject: Mapping[str, Any] | None = None,
) -> Report:
    """The sides of one run against the golden ones; the golden reference is the reference.

    The golden of side ``torch`` joins as the side ``torch-golden``. A recomputed reference is
    judged by :func:`compare_reference`, since it has float64 values in a float32 run too.

    Args:
        tolerances: instead of the check's own.
    """
    kept = golden.sides(dtype)
    if not kept:
        raise InvalidInput(f"{golden.file}: holds no run in {dtype}: write it again")
    traces = {side: trace for (run, side), trace in runs.items() if run == dtype}
    traces.pop("reference", None)
    traces |= {
        side if side == "reference" else f"{side}-golden": trace for side, trace in kept.items()
    }
    return build_report(
        traces,
        tolerances=check.tolerances.get(dtype, {}) if tolerances is None else tolerances,
        expect_zero=check.expect_zero,
        dtype=dtype,
        subject={**_subject(golden, dtype), **(subject or {})},
    )


def compare_reference(golden: Golden, runs: Mapping[Run, Trace], check: Check) -> Report | None:
    """The reference as it computes now against the golden one; None where a check has none."""
    now, kept = runs.get(("float64", "reference")), golden.traces.get(("float64", "reference"))
    if now is None and kept is None:
        return None
    empty = Trace(side="reference")
    return build_report(
        {"recomputed": empty if now is None else now, "reference": empty if kept is None else kept},
        tolerances=check.tolerances.get("float64", {}),
        expect_zero=check.expect_zero,
        dtype="float64",
        subject={**_subject(golden, "float64"), "mode": "reference"},
    )


def golden_change(before: Golden, after: Golden, check: Check) -> str:
    """What differs between two goldens of one case, in a few words; empty within tolerance."""
    if set(before.traces) != set(after.traces):
        runs = sorted(" ".join(run) for run in set(before.traces) ^ set(after.traces))
        return f"other runs: {', '.join(runs)}"
    for (dtype, side), trace in after.traces.items():
        report = build_report(
            {"before": before.traces[dtype, side], "after": trace},
            tolerances=check.tolerances.get(dtype, {}),
            expect_zero=("*",),
            dtype="float64" if side == "reference" else dtype,
        )
        if not report.passed:
            entry = report.failing[0]
            worst = entry.worst
            what = worst.problem if worst.structural else f"by {worst.max_abs:.1e}"
            return f"{dtype} {side}: {entry.name} differs ({what})"
    return ""


def read_manifest(folder: Path) -> dict[str, dict[str, Any]]:
    """File -> its facts.

    Raises:
        InvalidInput: there is none, or it is not one.
    """
    path = folder / MANIFEST
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise InvalidInput(f"{path}: not JSON ({error})") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InvalidInput(f"{path}: not a manifest of schema {SCHEMA}")
    return dict(document["files"])


def manifest_complaints(folder: Path, wanted: Iterable[str]) -> list[str]:
    """What is wrong between the files, the manifest, and the goldens that there should be."""
    listed, expected = read_manifest(folder), set(wanted)
    there = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.name != MANIFEST
    }
    found = [f"missing: {name}" for name in sorted(expected - there)]
    found += [f"unused: {name}" for name in sorted(there - expected)]
    found += [f"not in {MANIFEST}: {name}" for name in sorted(there - set(listed))]
    found += [f"only in {MANIFEST}: {name}" for name in sorted(set(listed) - there)]
    for name in sorted(there & set(listed)):
        facts = listed[name]
        if lacking := [fact for fact in FACTS if fact not in facts]:
            found.append(f"{name}: {MANIFEST} lacks {', '.join(lacking)}")
        elif sha256(folder / name) != facts["sha256"]:
            found.append(f"{name}: its sha256 is not the one in {MANIFEST}")
    return found


def sha256(path: Path) -> str:
    """Checksum of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def total_values(golden: Golden) -> int:
    """Elements that a golden holds."""
    return sum(int(np.size(a)) for trace in golden.traces.values() for _, a in trace.items())


def _identical(one: Trace, other: Trace) -> bool:
    return one.names == other.names and all(
        one[name].dtype == other[name].dtype and np.array_equal(one[name], other[name])
        for name in one
    )


def _subject(golden: Golden, dtype: str) -> dict[str, Any]:
    return {
        "component": golden.component,
        "check": f"golden/{golden.check}",
        "case": golden.case,
        "dtype": dtype,
        "mode": "eager",
        "device": "cpu",
    }
