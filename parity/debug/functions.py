"""Two callables on tensors: values, and gradients by each framework's own autodiff."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from parity.backends import get_backend
from parity.backends.base import Broadcast
from parity.checks.function import broadcast_problem
from parity.debug.modules import SIDES, cotangents
from parity.debug.subjects import Subject, describe
from parity.errors import InvalidInput
from parity.report import Problem, Report, build_report, judge
from parity.trace import Trace, flatten


def check_functions(
    subjects: Mapping[str, Subject],
    inputs: Mapping[str, Mapping[str, np.ndarray]],
    *,
    seed: int = 0,
) -> Report:
    """Call both with the same arrays, by position, in float32 and in float64.

    Outputs may be tensors, NumPy arrays, numbers, and nests of these; they are paired by name where
    both sides return mappings with the same keys, else by position. Where a side returns tensors,
    the gradient with respect to every floating input is compared as well.
    """
    run32 = _run(subjects, inputs, "float32", seed)
    try:
        run64 = _run(subjects, inputs, "float64", seed)
        missing = {}
    except InvalidInput as error:  # float32 constants inside: TensorFlow refuses to mix dtypes
        run64, missing = None, {"both": str(error)}
    if run64 is not None and (mixed := _narrow(run64)):
        missing = mixed
    subject = {
        "check": "function",
        "torch": subjects["torch"].label,
        "tf": subjects["tf"].label,
        "dtype": "float32",
        "no_float64": missing,
    }
    evidence = None if run64 is None or missing else run64
    return judge(run32.with_(subject=subject), evidence)


def _run(
    subjects: Mapping[str, Subject],
    inputs: Mapping[str, Mapping[str, np.ndarray]],
    dtype: str,
    seed: int,
) -> Report:
    traces, problems = {}, []
    for side in SIDES:
        trace, events = _call(subjects[side], side, inputs[side], dtype, seed)
        traces[side] = trace
        problems += [broadcast_problem(side, "output", e) for e in dict.fromkeys(events)]
    _pair_names(traces)
    return build_report(
        traces,
        problems=_one_sided(problems),
        expect_zero=("grad/*",),
        dtype=dtype,
        subject={"dtype": dtype},
    )


def _call(
    subject: Subject, side: str, inputs: Mapping[str, np.ndarray], dtype: str, seed: int
) -> tuple[Trace, list[Broadcast]]:
    backend = get_backend(side)
    names = list(inputs)
    events: list[Broadcast] = []

    def positional(**tensors: Any) -> Any:
        with backend.watch_broadcasts() as seen:
            try:
                return subject.value(*(tensors[name] for name in names))
            finally:
                events.extend(seen)

    arrays = {n: _typed(a, dtype) for n, a in inputs.items()}
    floats = [name for name, array in arrays.items() if array.dtype.kind == "f"]
    try:
        outputs, gradients = backend.value_and_grad(
            positional, arrays, wrt=floats, cotangents=cotangents(seed), dtype=dtype
        )
    except Exception as error:
        shapes = {name: array.shape for name, array in arrays.items()}
        raise InvalidInput(
            f"{subject.label} refuses inputs {shapes} in {dtype}: {describe(error)}"
        ) from error
    trace = Trace(side=side)
    trace.extend(dict(flatten(outputs)), scope="output")
    for name, gradient in gradients.items():
        if gradient is not None:
            trace.add(f"grad/{name}", gradient)
    return trace, events


def _pair_names(traces: dict[str, Trace]) -> None:
    """Number the outputs where the sides call them differently but return equally many."""
    own = {side: [n for n in trace if n.startswith("output/")] for side, trace in traces.items()}
    if own["torch"] == own["tf"] or len(own["torch"]) != len(own["tf"]):
        return
    for side, trace in traces.items():
        numbered = Trace(side=side)
        for name, value in trace.items():
            index = own[side].index(name) if name in own[side] else None
            numbered.add(name if index is None else f"output/{index}", value)
        traces[side] = numbered


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


def _typed(array: np.ndarray, dtype: str) -> np.ndarray:
    return array.astype(np.float32).astype(dtype) if array.dtype.kind == "f" else array


Function = Callable[..., Any]
