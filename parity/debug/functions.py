"""Two callables: values, and gradients by each framework's own autodiff.

A callable takes tensors of its framework, or NumPy arrays (then what it returns is all there is to
compare). It may be a module. What it returns may be nested, and is compared in the order in which
it stands there, so the first entry that differs is the first divergence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.checks.function import broadcast_problem
from parity.debug.calls import TENSORS, Caller, Outcome, watched
from parity.debug.modules import SIDES
from parity.debug.rounding import rounding_tolerances
from parity.debug.subjects import Subject
from parity.errors import InvalidInput
from parity.report import Problem, Report, build_report, judge
from parity.trace import Trace
from parity.verdict import Verdict

Inputs = Mapping[str, Mapping[str, np.ndarray]]


@dataclass
class Run:
    """Both sides, called once in one precision."""

    report: Report
    traces: dict[str, Trace]
    dtype: str
    outcomes: dict[str, Outcome]


def check_functions(
    subjects: Mapping[str, Subject],
    inputs: Inputs,
    *,
    seed: int = 0,
    explain: bool = True,
) -> Report:
    """Call both with the same arrays, by position, in float32 and in float64.

    Outputs are paired by name where both sides return mappings with the same keys, else by
    position. Where both sides take tensors, the gradient with respect to every floating input is
    compared as well. A factory is called afresh for each precision.

    Args:
        explain: try to find the cause of a difference.

    Raises:
        InvalidInput: a side refuses the inputs.
    """
    callers = {side: _caller(subjects[side], side, seed, inputs[side]) for side in SIDES}
    callers["tf"].swapped = _target_first(subjects)
    base = _base(callers, inputs)
    wide, missing = _wide(callers, inputs, base)
    subject: dict[str, Any] = {
        "check": "function",
        "torch": subjects["torch"].label,
        "tf": subjects["tf"].label,
        "dtype": "float32" if base.dtype == "float32" else "float64",
        "takes": callers["torch"].style,
        "no_float64": missing,
    }
    tf_flows = any(name.startswith("grad/") for name in base.outcomes["tf"].trace)
    if tf_flows and nothing_to_differentiate(base.outcomes["torch"]):
        subject["not_differentiated"] = True
    if callers["tf"].swapped:
        subject["order"] = (
            "the loss of Keras is given (y_true, y_pred), the inputs being the reverse"
        )
    report = base.report
    if wide is None and base.dtype == "float32":
        report = _report(base.traces, base.report.problems, "float32", bounded=True)
    report = judge(report.with_(subject=subject), wide.report if wide is not None else None)
    if explain and report.verdict in (Verdict.DIVERGE, Verdict.LATENT):
        from parity.diagnose.functions import explain_functions

        report = explain_functions(report, callers, inputs, base, wide)
    return report


def _caller(subject: Subject, side: str, seed: int, inputs: Mapping[str, np.ndarray]) -> Caller:
    """What calls a side; a recorded one answers to the inputs that it was recorded with."""
    from parity.recording.functions import RecordedCaller, RecordedFunction

    if isinstance(subject.value, RecordedFunction):
        return RecordedCaller(subject, side, seed, inputs=inputs)
    return Caller(subject, side, seed)


def _base(callers: Mapping[str, Caller], inputs: Inputs) -> Run:
    """In float32; as given where the user's own code wants the float64 that the inputs are in."""
    try:
        return run(callers, inputs, "float32")
    except InvalidInput:
        if not any(a.dtype == np.float64 for arrays in inputs.values() for a in arrays.values()):
            raise
        return run(callers, inputs, "given")


def _wide(
    callers: Mapping[str, Caller], inputs: Inputs, base: Run
) -> tuple[Run | None, dict[str, str]]:
    """The float64 run, or why it says nothing."""
    if base.dtype != "float32":
        return None, {}
    try:
        wide = run(callers, inputs, "float64")
    except InvalidInput as error:  # float32 constants inside: TensorFlow refuses to mix dtypes
        return None, {_refuser(callers, str(error)): str(error)}
    narrow = _narrow(wide.report)
    return (None, narrow) if narrow else (wide, {})


def run(callers: Mapping[str, Caller], inputs: Inputs, dtype: str) -> Run:
    """Call both sides once and compare."""
    outcomes: dict[str, Outcome] = {}
    prefer = TENSORS
    for side in SIDES:
        outcomes[side] = watched(callers[side], inputs[side], dtype, prefer=prefer)
        prefer = outcomes[side].style
    traces = comparable(outcomes, inputs["torch"])
    grown = [
        broadcast_problem(side, "output", event)
        for side in SIDES
        for event in outcomes[side].events
    ]
    problems = [*_one_sided(grown), *_gradients_missing(outcomes)]
    name = "float64" if dtype == "given" else dtype
    return Run(_report(traces, problems, name), traces, dtype, outcomes)


def _report(
    traces: dict[str, Trace], problems: Sequence[Problem], dtype: str, *, bounded: bool = False
) -> Report:
    # one output of zeros beside others is ordinary; a function that returns nothing else is not,
    # unless it has nothing to compute from (the initial value of a bias)
    live = any(np.any(v) for t in traces.values() for n, v in t.items() if n.startswith("output/"))
    silent = ("*",) if live or not any(_floats(t) for t in traces.values()) else ("grad/*",)
    return build_report(
        traces,
        tolerances=rounding_tolerances(traces["torch"]) if bounded else None,
        problems=[p for p in problems if not p.vacuous],
        expect_zero=silent,
        dtype=dtype,
        subject={"dtype": dtype},
    )


def _floats(trace: Trace) -> bool:
    return bool(trace.meta.get("floating_inputs", True))


def comparable(
    outcomes: Mapping[str, Outcome], inputs: Mapping[str, np.ndarray]
) -> dict[str, Trace]:
    """Both traces under one set of names, in dtypes that can be compared."""
    own = {s: [n for n in o.trace if n.startswith("output/")] for s, o in outcomes.items()}
    numbered = (
        own["torch"] != own["tf"]
        and len(own["torch"]) == len(own["tf"])
        and (set(own["torch"]) != set(own["tf"]))
    )
    floating = any(a.dtype.kind == "f" for a in inputs.values())
    both = all(o.style == TENSORS and o.differentiable for o in outcomes.values())
    compared = both and not nothing_to_differentiate(outcomes["torch"])
    traces = {}
    for side, outcome in outcomes.items():
        other = outcomes["tf" if side == "torch" else "torch"]
        trace = Trace(side=side, meta={"floating_inputs": floating})
        for name, value in outcome.trace.items():
            if name.startswith("grad/") and not compared:
                continue
            index = own[side].index(name) if numbered and name in own[side] else None
            trace.add(name if index is None else f"output/{index}", value)
        for name in sorted(outcome.without) if compared else ():
            if f"grad/{name}" in other.trace:  # no gradient is a gradient of zero, and a finding
                trace.add(f"grad/{name}", np.zeros_like(other.trace[f"grad/{name}"]))
        traces[side] = trace
    if not both:
        _harmonise(traces)
    return traces


def nothing_to_differentiate(torch: Outcome) -> bool:
    """Whether torch detaches all that it returns: an update, a target under no_grad.

    Then gradients are no part of what the function is for, and TensorFlow, which has no gradient
    outside of a tape, needs no stop_gradient to be the same.
    """
    flows = any(name.startswith("grad/") for name in torch.trace)
    return torch.style == TENSORS and torch.differentiable and bool(torch.without) and not flows


def _harmonise(traces: dict[str, Trace]) -> None:
    """Functions on arrays convert for themselves: the dtype of what they return is incidental."""
    wanted: dict[str, np.dtype[Any]] = {}
    for name, value in traces["torch"].items():
        other = traces["tf"][name] if name in traces["tf"] else value
        kinds = {value.dtype.kind, other.dtype.kind}
        if value.dtype != other.dtype and kinds <= set("biuf"):
            narrow = min(value.dtype, other.dtype, key=lambda d: d.itemsize)
            wanted[name] = narrow if kinds == {"f"} else np.result_type(value, other)
    for side, trace in list(traces.items()):
        cast = Trace(side=side, meta=trace.meta)
        for name, value in trace.items():
            cast.add(name, value.astype(wanted[name]) if name in wanted else value)
        traces[side] = cast


def _gradients_missing(outcomes: Mapping[str, Outcome]) -> list[Problem]:
    """A gradient that flows on one side only."""
    found: list[Problem] = []
    if nothing_to_differentiate(outcomes["torch"]):
        return found
    for side, outcome in outcomes.items():
        other = outcomes["tf" if side == "torch" else "torch"]
        for name in sorted(outcome.without - other.without):
            gradient = other.trace[f"grad/{name}"] if f"grad/{name}" in other.trace else None
            if (
                gradient is not None
                and np.any(gradient)
                and (outcome.differentiable and other.differentiable)
            ):
                details = {"side": side, "input": name, "found": "none", "wanted": "some"}
                found.append(Problem("gradient", f"grad/{name}", details))
    return found


def _one_sided(problems: Sequence[Problem]) -> list[Problem]:
    """Broadcasts that only one side makes; what both do alike is part of the function."""
    grown: dict[tuple[int, ...], set[str]] = {}
    for problem in problems:
        grown.setdefault(tuple(problem.details["result"]), set()).add(problem.details["side"])
    return [p for p in problems if len(grown[tuple(p.details["result"])]) == 1]


def _narrow(report: Report) -> dict[str, str]:
    """Sides whose float64 run returned float32: its difference would be rounding."""
    found = {}
    for entry in report.entries:
        for d in entry.differences:
            for side, dtype in zip(d.sides, d.dtypes, strict=True):
                if dtype == "float32":
                    found[side] = f"{entry.name} comes out as float32 in a float64 run"
    return found


def _refuser(callers: Mapping[str, Caller], text: str) -> str:
    return next((s for s, c in callers.items() if text.startswith(c.subject.label)), "both")


def _target_first(subjects: Mapping[str, Subject]) -> bool:
    """Raw losses of the frameworks: torch takes (input, target), Keras (y_true, y_pred)."""
    owners = {}
    for side, subject in subjects.items():
        value = subject.value
        named = value if hasattr(value, "__qualname__") else type(value)
        owners[side] = str(getattr(named, "__module__", ""))
    return owners["torch"].startswith(("torch.nn.modules.loss", "torch.nn.functional")) and (
        ".losses" in owners["tf"] and owners["tf"].startswith(("keras", "tf_keras"))
    )
