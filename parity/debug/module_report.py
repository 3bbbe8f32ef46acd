"""What two recorded runs of a pair of modules say: where they part, why, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity.debug import config, transfer
from parity.debug.config_hidden import lone_activations
from parity.debug.localise import PARAMETER, Fault, Places, localise, table
from parity.debug.matching import Matching
from parity.debug.modules import Pair
from parity.debug.precision import Twin
from parity.debug.rounding import rounding_tolerances
from parity.debug.subjects import Subject
from parity.debug.transfer import Plan
from parity.report import Report, build_report, judge
from parity.tolerance import DEFAULTS, Tolerance, default_tolerance
from parity.trace import Trace, flatten

#: Zeros inside a user's network are ordinary; an output of nothing but zeros is not.
EXPECT_ZERO = ("forward/*", "grad*", "state/*")


@dataclass
class Run:
    """Both modules in one precision, recorded and compared."""

    pair: Pair
    matching: Matching
    plan: Plan
    traces: dict[str, Trace]
    report: Report
    before: Mapping[str, np.ndarray]
    """``state/...`` -> the running statistics before the pass, in training mode."""
    local: Sequence[Mapping[str, Any]] = ()
    """The table of layers of a run whose arrays are gone; only made for a page."""

    def release(self) -> None:
        """Let go of all arrays; the report stays."""
        self.pair.records.clear()
        self.traces.clear()
        self.matching = Matching([], self.matching.pairing)
        self.plan = Plan(problems=self.plan.problems)


def explained(
    run32: Run, run64: Run | None, subjects: Mapping[str, Subject], twins: Mapping[str, Twin]
) -> Report:
    """Place the differences, explain them, and judge."""
    best = run64 or run32
    report, evidence = run32.report, None if run64 is None else run64.report
    if run64 is None:
        report = _by_rounding_bound(run32)
        best = replace(run32, report=report)
    places = Places([], [])
    settings = config.differences(best.matching.matches)
    if contract_holds(best.report):
        settings += _hidden_activations(best)
    else:
        own = _own_parameters(best)
        places = _told_apart(localise(best.pair, best.matching, best.report), settings)
        places.faults[:0] = own
    if run64 is not None and places.faults and not places.real:
        evidence = _float32_inside(run64, places)
    internal: list[str] = []
    if contract_holds(evidence or report):
        report, internal = _without_internals(report)
        evidence = None if evidence is None else _without_internals(evidence)[0]
    subject = _subject(best, places, subjects, twins)
    if best.plan.problems:
        report = report.with_(problems=(*report.problems, *best.plan.problems))
    subject["internal"] = internal
    if run32.local:
        subject["table32"] = run32.local
    subject["config"] = config.as_data(settings)
    judged = judge(report.with_(subject={**subject, "dtype": "float32"}), evidence)
    from parity.diagnose.layers import explain_modules

    return explain_modules(judged, best, places, settings)


def _hidden_activations(run: Run) -> list[config.Setting]:
    """Activations on one side only, which these data do not show."""
    tensors = {
        side: [
            *(a for call in record.calls for a in call.inputs),
            *(a for _, a in flatten(record.output)),
        ]
        for side, record in run.pair.records.items()
    }
    return lone_activations(run.matching.matches, run.matching.only, tensors)


def _own_parameters(run: Run) -> list[Fault]:
    """A model's own parameters that differ; put right in the tf model, so that the rest shows."""
    found = []
    for moved in run.plan.moved:
        if moved.match is not None:
            continue
        a, b = moved.torch.get(), moved.tf.get()
        if a.size != b.size:
            continue
        gap = float(np.abs(a.reshape(b.shape).astype(np.float64) - b).max(initial=0.0))
        if gap > default_tolerance("float32").atol:
            found.append(Fault(PARAMETER, moved.name, None, None, gap, a, b))
            if run.pair.dtype == "float64":  # a copy of the user's model
                moved.tf.set(transfer.fitted(a, moved.tf))
    return found


def _told_apart(places: Places, settings: Sequence[config.Setting]) -> Places:
    """A small float64 difference is no float32 constant where the layer is set up otherwise."""
    other = {s.layer for s in settings if not s.training}
    faults = [
        replace(f, float32=False) if f.match is not None and f.match.path in other else f
        for f in places.faults
    ]
    return Places(places.rows, faults)


CONTRACT = ("output/", "grad/", "grad_input/", "state/")
"""What a user of the module sees. Between layers two correct ports may hand on other tensors."""


def contract_holds(report: Report) -> bool:
    """Whether outputs, all gradients and the state agree, whatever the layers do inside."""
    return not any(entry.name.startswith(CONTRACT) for entry in report.failing)


def _without_internals(report: Report) -> tuple[Report, list[str]]:
    """The report without the differing entries from inside, and the names of these."""
    dropped = [e.name for e in report.failing if not e.name.startswith(CONTRACT)]
    problems = [p for p in report.problems if p.kind != "unmatched" or p.name.startswith(CONTRACT)]
    entries = tuple(e for e in report.entries if e.name not in set(dropped))
    return judge(report.with_(entries=entries, problems=tuple(problems))), dropped


def _by_rounding_bound(run: Run) -> Report:
    return build_report(
        run.traces,
        tolerances=rounding_tolerances(run.traces["torch"]),
        expect_zero=("*",),
        dtype="float32",
    )


def _float32_inside(run: Run, places: Places) -> Report:
    """The float64 run judged as float32, because some layers compute so inside."""
    layers = [fault.place for fault in places.faults if not fault.place.startswith("grad/")]
    because = f"{', '.join(layers[:3])} round to float32 in a float64 run; each layer alone agrees"
    bound = Tolerance(DEFAULTS["float32"].atol * max(1, len(layers)), because)
    return build_report(
        run.traces,
        tolerances={"*": bound},
        expect_zero=EXPECT_ZERO,
        dtype="float64",
        subject={"dtype": "float64", "float32_inside": [f.place for f in places.faults]},
    )


def _subject(
    run: Run, places: Places, subjects: Mapping[str, Subject], twins: Mapping[str, Twin]
) -> dict[str, Any]:
    missing = {side: twin.reason for side, twin in twins.items() if twin.module is None}
    matching, about = run.matching, run.report.subject
    return {
        "check": "module",
        "torch": subjects["torch"].label,
        "tf": subjects["tf"].label,
        "layers": [
            {"torch": m.path, "tf": m.tf_path, "kind": m.kind, **({"where": w} if w else {})}
            for m, w in ((m, m.where) for m in matching.matches)
        ],
        "only_torch": [call.path for call in matching.only["torch"]],
        "only_tf": [call.path for call in matching.only["tf"]],
        "only_at": {side: _behind(run, side) for side in subjects},
        "table": table(places, places.faults),
        "faults": _fault_places(run, places),
        "place": _place(run, places),
        "float32_inside": [
            {"place": f.place, "error": f.error} for f in places.faults if f.float32
        ],
        "no_float64": missing,
        **({"constants": run.plan.constants} if run.plan.constants else {}),
        **({"float64_rows": about["rows"], "of_rows": about["of"]} if "rows" in about else {}),
    }


def _behind(run: Run, side: str) -> list[int]:
    """For each layer without partner, how many of the pairs ran before it."""
    order = {call.path: i for i, call in enumerate(run.pair.records[side].calls)}
    paired = [order.get(getattr(m, side)[-1].path, -1) for m in run.matching.matches]
    lone = [order.get(call.path, len(order)) for call in run.matching.only[side]]
    return [sum(place < at for place in paired) for at in lone]


def _fault_places(run: Run, places: Places) -> list[str]:
    """Layers at fault; in two networks that are not the same, those that differ in structure."""
    if run.plan.problems:
        named = [str(p.details.get("layer", p.name)) for p in run.plan.problems]
        return list(dict.fromkeys(named))
    return [fault.place for fault in places.real]


def _place(run: Run, places: Places) -> str | None:
    """Where the sides part first; from the entries where the layers do not tell."""
    if run.plan.problems:
        first = run.plan.problems[0]
        return str(first.details.get("layer", first.name))
    if places.real:
        return places.real[0].place
    if places.faults or contract_holds(run.report):
        return None
    for entry in run.report.failing:
        head, _, rest = entry.name.partition("/")
        if head == "forward":
            return rest.removesuffix("/output")
        if head == "output":
            return "output"
        if head in ("grad", "grad_output"):
            layers = [m.path for m in run.matching.matches]
            owner = next((p for p in layers if rest == p or rest.startswith(f"{p}/")), rest)
            return f"grad/{owner}"
        return entry.name
    return None
