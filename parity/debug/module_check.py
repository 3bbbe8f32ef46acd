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
            if details.wanted():
                places = localise(run32.pair, run32.matching, run32.report)
                run32.local = table(places, places.faults)
            run32.release()
            pair = Pair(wide, first.inputs, "float64", training)
            run64 = _run(pair, matching, names, seed, keep)
        return explained(run32, run64, subjects, twins)


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
