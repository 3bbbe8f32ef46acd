"""The module door: pair, move the weights, record, compare; again in float64; then say where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from parity import details, weights
from parity.backends import get_backend
from parity.debug import feeding, modules, transfer
from parity.debug.inputs import bind
from parity.debug.localise import localise, table
from parity.debug.matching import SIDES, Matching
from parity.debug.module_report import EXPECT_ZERO, Run, explained
from parity.debug.modules import Pair
from parity.debug.precision import Twin, keras_twin, torch_twin
from parity.debug.subjects import Subject, call_factory, describe
from parity.debug.transfer import Plan
from parity.errors import InvalidInput, ParityError
from parity.report import Report, build_report
from parity.trace import flatten


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
    _materialise(subjects["torch"], inputs["torch"])
    _refuse_nan(subjects, transfer)
    with _untouched(torch_module, training):
        with modules.unmoved([subjects["tf"].value]):
            subjects, first = _first_record(subjects, inputs, seed)
        values = first.modules
        _refuse_nothing(first, subjects)
        matching = first.match(names)
        plan = _plan(matching, values)
        if all(modules.is_recorded(value) for value in values.values()):
            transfer = "keep"  # neither can be given the other's weights
        if transfer == "copy":
            _copy(plan, values)
        else:
            _settle_flattening(matching, plan)
        keep = transfer == "keep"
        run32 = _run(Pair(values, first.inputs, "float32", training), matching, names, seed, keep)
        twins = _twins(subjects, first.inputs)
        run64 = None
        if all(twin.module is not None for twin in twins.values()):
            wide = {side: twins[side].module for side in SIDES}
            _widen(plan, values, wide, exact=transfer == "copy")
            if details.wanted():
                places = localise(run32.pair, run32.matching, run32.report)
                run32.local = table(places, places.faults)
            run32.release()
            pair = Pair(wide, first.inputs, "float64", training)
            run64 = _run(pair, matching, names, seed, keep)
        return explained(run32, run64, subjects, twins)


def _materialise(subject: Subject, inputs: Mapping[str, np.ndarray]) -> None:
    """Lazy layers of torch have no weights before their first call."""
    if modules.is_recorded(subject.value):
        return
    from torch.nn.parameter import is_lazy

    tensors = [*subject.value.parameters(), *subject.value.buffers()]
    if not any(is_lazy(tensor) for tensor in tensors):
        return
    given = [modules.typed(a, "float32") for a in _in_order(subject, inputs)]
    try:
        subject.value(*(get_backend("torch").tensor(a) for a in given))
    except Exception as error:
        raise _refused(subject.label, given, "float32", error) from error


def _refuse_nan(subjects: Mapping[str, Subject], transfer: str) -> None:
    """Nothing that NaN weights make can differ from what they make on the other side."""
    for side in SIDES if transfer == "keep" else ("torch",):
        value = subjects[side].value
        if modules.is_recorded(value):
            continue
        if side == "torch" and any(p.is_meta for p in value.parameters()):
            raise InvalidInput(
                f"{subjects[side].label} stands on the meta device, where weights have no values; "
                "move it: .to_empty(device='cpu'), then load its weights"
            )
        for slot in weights.slots(value):
            array = slot.get()
            if array.dtype.kind == "f" and (count := int(np.isnan(array).sum())):
                raise InvalidInput(
                    f"{subjects[side].label}: {slot.path} holds NaN ({count} of {array.size} "
                    "values), which would hide every difference; load weights that are numbers"
                )


def _refuse_nothing(pair: Pair, subjects: Mapping[str, Subject]) -> None:
    """A module that returns no tensor."""
    for side, record in pair.records.items():
        if not any(True for _ in flatten(record.output)):
            raise InvalidInput(
                f"{subjects[side].label} returns None: there is no output to compare; return it "
                f"from {'forward' if side == 'torch' else 'call'}"
            )


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
    if modules.is_recorded(values["tf"]) and not modules.is_recorded(values["torch"]):
        return subjects, _first_of_torch(pair, subjects, seed)
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


def _first_of_torch(pair: Pair, subjects: Mapping[str, Subject], seed: int) -> Pair:
    """A recorded tf side: torch is given its inputs in the order of axes that torch takes."""
    given, failed = list(pair.inputs["tf"]), None
    for choice in feeding.torch_choices(given, pair.modules["tf"].record.calls):
        trial = Pair(pair.modules, {"torch": choice, "tf": given}, "float32")
        try:
            _record_torch(trial, subjects, seed)
            return _recorded(trial, subjects, seed, backward=False)
        except InvalidInput as error:
            failed = failed or error
    assert failed is not None
    raise failed


def _in_order(subject: Subject, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The inputs in the order in which the module's own forward pass takes them."""
    if modules.is_recorded(subject.value):
        return [inputs[name] for name in subject.value.order]
    forward = getattr(subject.value, "forward", None) or getattr(subject.value, "call", None)
    return [inputs[name] for name in bind(list(inputs), forward, subject.label)]


def _record_torch(pair: Pair, subjects: Mapping[str, Subject], seed: int) -> None:
    try:
        pair.records["torch"] = modules.record_pass(
            pair.modules["torch"],
            "torch",
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
    hint = _half(subjects[side].value) if side == "torch" else ""
    return _refused(subjects[side].label, pair.inputs[side], pair.dtype, error, hint)


def _refused(
    label: str, inputs: Sequence[np.ndarray], dtype: str, error: Exception, hint: str = ""
) -> InvalidInput:
    shapes = ", ".join(str(tuple(a.shape)) for a in inputs)
    whole = [a for a in inputs if a.dtype.kind in "iu"]
    if whole and "dtype" in str(error):
        shape = ",".join(map(str, whole[0].shape))
        hint = hint or f"; an input is {whole[0].dtype}: the net may want float32[{shape}]"
    return InvalidInput(
        f"{label} refuses inputs of shapes {shapes} in {dtype}: {describe(error)}{hint}"
    )


def _half(module: Any) -> str:
    """Weights in a precision that the check does not run in."""
    found = {str(p.dtype).removeprefix("torch.") for p in module.parameters()}
    other = sorted(found & {"float16", "bfloat16"})
    return f"; its weights are {other[0]}: give the module in float32 (.float())" if other else ""


def _plan(matching: Matching, values: Mapping[str, Any]) -> Plan:
    return transfer.plan(matching, values)


def _copy(plan: Plan, values: Mapping[str, Any]) -> None:
    transfer.copy(plan, source=_source(values))


def _source(values: Mapping[str, Any]) -> str:
    """Whose weights both sides get: torch's, or those of a recorded tf side."""
    fixed = modules.is_recorded(values["tf"]) and not modules.is_recorded(values["torch"])
    return "tf" if fixed else "torch"


def _settle_flattening(matching: Matching, plan: Plan) -> None:
    transfer.settle_flattening(matching, plan)


def _twins(
    subjects: Mapping[str, Subject], given: Mapping[str, Sequence[np.ndarray]]
) -> dict[str, Twin]:
    def build(module: Any) -> None:
        from parity.backends.tf_backend import call_model

        tensors = [get_backend("tf").tensor(modules.typed(a, "float64")) for a in given["tf"]]
        call_model(module, tensors, training=False)

    twins = {}
    for side, subject in subjects.items():
        if modules.is_recorded(subject.value):
            twins[side] = Twin(subject.value.wide, subject.value.reason)
        else:
            twins[side] = (
                torch_twin(subject.value) if side == "torch" else keras_twin(subject, build)
            )
    return twins


def _widen(plan: Plan, values: Mapping[str, Any], wide: Mapping[str, Any], *, exact: bool) -> None:
    """Give the tf twin torch's float64 values.

    Two float32 biases add up to a number that float32 cannot hold, so the sum is taken anew.

    Args:
        exact: for all tensors; else only where the two sides held the same float32 values.
    """
    source = _source(values)
    if modules.is_recorded(wide["torch" if source == "tf" else "tf"]):
        return  # recorded in float64 as well
    slots = {side: _mirror(values[side], wide[side]) for side in SIDES}
    for moved in plan.moved:
        left, right = (slots[side].get(key) for side, key in zip(SIDES, moved.keys, strict=True))
        if left is None or right is None:
            continue
        if not exact and not _same_in_float32(moved):
            continue
        if source == "tf":
            left.set(transfer.fitted(right.get(), left))
            continue
        value = left.get()
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
