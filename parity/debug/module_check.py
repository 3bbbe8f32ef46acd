"""The module door: pair, move the weights, record, compare; again in float64; then say where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity import weights
from parity.backends import get_backend
from parity.debug import config, feeding, modules, transfer
from parity.debug.inputs import bind
from parity.debug.localise import PARAMETER, Fault, Places, localise, table
from parity.debug.matching import SIDES, Matching
from parity.debug.modules import Pair
from parity.debug.precision import Twin, keras_twin, torch_twin
from parity.debug.rounding import rounding_tolerances
from parity.debug.subjects import Subject, call_factory, describe
from parity.debug.transfer import Plan
from parity.errors import InvalidInput, ParityError
from parity.report import Report, build_report, judge
from parity.tolerance import DEFAULTS, Tolerance, default_tolerance
from parity.trace import Trace

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

    def release(self) -> None:
        """Let go of all arrays; the report stays."""
        self.pair.records.clear()
        self.traces.clear()
        self.matching = Matching([], self.matching.pairing)
        self.plan = Plan(problems=self.plan.problems)


def check_modules(
    subjects: Mapping[str, Subject],
    inputs: Mapping[str, Mapping[str, np.ndarray]],
    *,
    training: bool,
    transfer: str,
    names: Mapping[str, str] | None,
    seed: int,
) -> Report:
    """Compare two modules layer by layer, in float32 and float64.

    Raises:
        InvalidInput: a module refuses the inputs.
        AlignmentError, TransferError: layers or weights cannot be paired without guessing.
    """
    torch_module = subjects["torch"].value
    with _untouched(torch_module, training):
        with modules.unmoved([subjects["tf"].value]):
            subjects, first = _first_record(subjects, inputs, seed)
        values = first.modules
        matching = first.match(names)
        plan = _plan(matching, values)
        if transfer == "copy":
            _copy(plan)
        else:
            _settle_flattening(matching, plan)
        keep = transfer == "keep"
        run32 = _run(Pair(values, first.inputs, "float32", training), matching, names, seed, keep)
        twins = _twins(subjects, first.inputs)
        run64 = None
        if all(twin.module is not None for twin in twins.values()):
            wide = {side: twins[side].module for side in SIDES}
            _widen(plan, values, wide, exact=transfer == "copy")
            run32.release()
            pair = Pair(wide, first.inputs, "float64", training)
            run64 = _run(pair, matching, names, seed, keep)
        return _explained(run32, run64, subjects, twins)


@contextmanager
def _untouched(module: Any, training: bool) -> Iterator[None]:
    """The user's torch module keeps its mode and its running statistics."""
    mode = module.training
    module.train(training)
    try:
        with modules.unmoved([module]):
            yield
    finally:
        module.train(mode)


def _first_record(
    subjects: Mapping[str, Subject], inputs: Mapping[str, Mapping[str, np.ndarray]], seed: int
) -> tuple[Mapping[str, Subject], Pair]:
    """Run both once, to see their layers; the tf side in the order of axes that it takes."""
    given = {side: _in_order(subjects[side], inputs[side]) for side in SIDES}
    values = {side: subjects[side].value for side in SIDES}
    pair = Pair(values, given, "float32")
    _record_torch(pair, subjects, seed)
    if inputs["torch"] is not inputs["tf"]:
        return subjects, _recorded(pair, subjects, seed, backward=False)
    failed: InvalidInput | None = None
    for choice in feeding.choices(values["tf"], given["tf"], pair.records["torch"].calls):
        trial = Pair(values, {**given, "tf": choice}, "float32", False, dict(pair.records))
        try:
            return subjects, _recorded(trial, subjects, seed, backward=False)
        except InvalidInput as error:
            failed = failed or error
        factory = subjects["tf"].factory
        if factory is not None:  # the failed call may have built layers for other shapes
            fresh = call_factory(factory, subjects["tf"].label)
            subjects = {**subjects, "tf": replace(subjects["tf"], value=fresh)}
            values = {side: subjects[side].value for side in SIDES}
    assert failed is not None
    raise failed


def _in_order(subject: Subject, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The inputs in the order in which the module's own forward pass takes them."""
    forward = getattr(subject.value, "forward", None) or getattr(subject.value, "call", None)
    return [inputs[name] for name in bind(list(inputs), forward, subject.label)]


def _record_torch(pair: Pair, subjects: Mapping[str, Subject], seed: int) -> None:
    try:
        pair.records["torch"] = get_backend("torch").record_module(
            pair.modules["torch"],
            [modules.typed(a, pair.dtype) for a in pair.inputs["torch"]],
            cotangents=modules.cotangents(seed),
            dtype=pair.dtype,
            backward=False,
        )
    except ParityError:
        raise
    except Exception as error:
        raise _refusal("torch", pair, subjects, error) from error


def _recorded(
    pair: Pair,
    subjects: Mapping[str, Subject],
    seed: int,
    *,
    last_order: str = "same",
    backward: bool = True,
) -> Pair:
    try:
        return pair.record(seed, last_order=last_order, backward=backward)
    except ParityError:
        raise
    except Exception as error:
        side = "tf" if "torch" in pair.records else "torch"
        raise _refusal(side, pair, subjects, error) from error


def _refusal(
    side: str, pair: Pair, subjects: Mapping[str, Subject], error: Exception
) -> InvalidInput:
    shapes = ", ".join(str(tuple(a.shape)) for a in pair.inputs[side])
    return InvalidInput(
        f"{subjects[side].label} refuses inputs of shapes {shapes} in {pair.dtype}: "
        f"{describe(error)}"
    )


def _plan(matching: Matching, values: Mapping[str, Any]) -> Plan:
    return transfer.plan(matching, values)


def _copy(plan: Plan) -> None:
    transfer.copy(plan)


def _settle_flattening(matching: Matching, plan: Plan) -> None:
    transfer.settle_flattening(matching, plan)


def _twins(
    subjects: Mapping[str, Subject], given: Mapping[str, Sequence[np.ndarray]]
) -> dict[str, Twin]:
    def build(module: Any) -> None:
        from parity.backends.tf_backend import call_model

        tensors = [get_backend("tf").tensor(modules.typed(a, "float64")) for a in given["tf"]]
        call_model(module, tensors, training=False)

    return {
        "torch": torch_twin(subjects["torch"].value),
        "tf": keras_twin(subjects["tf"], build),
    }


def _widen(plan: Plan, values: Mapping[str, Any], wide: Mapping[str, Any], *, exact: bool) -> None:
    """Give the tf twin torch's float64 values.

    Two float32 biases add up to a number that float32 cannot hold, so the sum is taken anew.

    Args:
        exact: for all tensors; else only where the two sides held the same float32 values.
    """
    slots = {side: _mirror(values[side], wide[side]) for side in SIDES}
    for moved in plan.moved:
        left, right = (slots[side].get(key) for side, key in zip(SIDES, moved.keys, strict=True))
        if left is None or right is None:
            continue
        value = left.get()
        if exact or _same_in_float32(moved):
            if moved.rows is not None:
                value = value[moved.rows]
            right.set(transfer.fitted(value, right))


def _same_in_float32(moved: transfer.Moved) -> bool:
    a, b = moved.torch.get(), moved.tf.get()
    if moved.rows is not None:
        a = a[moved.rows]
    return a.size == b.size and np.array_equal(a.reshape(b.shape).astype(b.dtype), b)


def _mirror(module: Any, twin: Any) -> dict[Any, Any]:
    """Slot of the original (by its tensors) -> slot of the twin: same class, same order."""
    return {
        key: b
        for (key, a), b in zip(
            transfer.keyed(weights.slots(module)).items(), weights.slots(twin), strict=False
        )
        if a.path == b.path or a.shape == b.shape
    }


def _run(
    pair: Pair, first: Matching, names: Mapping[str, str] | None, seed: int, keep: bool
) -> Run:
    subjects = {side: Subject(side, side, "module", pair.modules[side]) for side in SIDES}
    before = _statistics(pair)
    # a pass may move running statistics, in evaluation too where the user's code says so
    with modules.unmoved(list(pair.modules.values())):
        _recorded(pair, subjects, seed, last_order=first.last_order)
        matching = pair.match(names)
        plan = _plan(matching, pair.modules)
        if keep:
            _settle_flattening(matching, plan)
        traces = modules.traces(pair, matching, plan)
        for record in pair.records.values():
            record.parameter_gradients.clear()  # the traces hold them
    report = build_report(
        traces, expect_zero=EXPECT_ZERO, dtype=pair.dtype, subject={"dtype": pair.dtype}
    )
    return Run(pair, matching, plan, traces, report, before)


def _statistics(pair: Pair) -> dict[str, np.ndarray]:
    slots = weights.slots(pair.modules["torch"]) if pair.training else []
    return {f"state/{s.path}": s.get() for s in slots if not s.trainable}


def _explained(
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
    if not contract_holds(best.report):
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
    subject["config"] = config.as_data(settings)
    judged = judge(report.with_(subject={**subject, "dtype": "float32"}), evidence)
    from parity.diagnose.layers import explain_modules

    return explain_modules(judged, best, places, settings)


def _own_parameters(run: Run) -> list[Fault]:
    """A model's own parameters that differ; put right in the tf model, so that the rest shows."""
    found = []
    for moved in run.plan.moved:
        a, b = moved.torch.get(), moved.tf.get()
        if moved.match is not None or a.size != b.size:
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
    matching = run.matching
    return {
        "check": "module",
        "torch": subjects["torch"].label,
        "tf": subjects["tf"].label,
        "layers": [{"torch": m.path, "tf": m.tf_path, "kind": m.kind} for m in matching.matches],
        "only_torch": [call.path for call in matching.only["torch"]],
        "only_tf": [call.path for call in matching.only["tf"]],
        "table": table(places, places.faults),
        "faults": _fault_places(run, places),
        "place": _place(run, places),
        "float32_inside": [
            {"place": f.place, "error": f.error} for f in places.faults if f.float32
        ],
        "no_float64": missing,
    }


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
