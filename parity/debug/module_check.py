"""The module door: pair, move the weights, record, compare; again in float64; then say where."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from parity import details, progress, spill, weights
from parity.backends import get_backend
from parity.backends.base import ModuleRecord
from parity.debug import evidence, feeding, modules, transfer, wide
from parity.debug.inputs import bind
from parity.debug.localise import localise, table
from parity.debug.matching import SIDES, Matching
from parity.debug.module_report import EXPECT_ZERO, Run, explained
from parity.debug.modules import Pair
from parity.debug.subjects import Subject, call_factory, describe
from parity.debug.transfer import Plan
from parity.errors import InvalidInput, ParityError
from parity.report import Report, build_report
from parity.trace import flatten


def check_modules(
    subjects: Mapping[str, Subject],
    inputs: Mapping[str, Mapping[str, np.ndarray]],
    **options: Any,
) -> Report:
    """Compare two modules layer by layer, in float32 and float64.

    Args:
        options: ``training``, ``transfer``, ``names`` and ``seed``, as in :func:`parity.check`.

    Raises:
        InvalidInput: a module refuses the inputs.
        AlignmentError, TransferError: layers or weights cannot be paired without guessing.
    """
    large = evidence.is_large(subjects["torch"].value)
    with _collected(large), spill.spilling(large):
        return _check_modules(subjects, inputs, **options)


@contextmanager
def _collected(large: bool) -> Iterator[None]:
    """Keras's layers refer to each other: the twin of a large one would stay for a while.

    What was there before is not looked through: with the frameworks that takes a third of a second.
    """
    frozen = large and not gc.get_freeze_count()  # else somebody froze objects, to stay so
    if frozen:
        gc.freeze()
    try:
        yield
    finally:
        if large:
            gc.collect()
        if frozen:
            gc.unfreeze()


def _check_modules(
    subjects: Mapping[str, Subject],
    inputs: Mapping[str, Mapping[str, np.ndarray]],
    *,
    training: bool,
    transfer: str,
    names: Mapping[str, str] | None,
    seed: int,
) -> Report:
    torch_module = subjects["torch"].value
    _materialise(subjects["torch"], inputs["torch"])
    _refuse_nan(subjects, transfer)
    with _untouched(torch_module, training):
        with modules.unmoved([subjects["tf"].value]):
            subjects, first = first_record(subjects, inputs, seed, backward=not training)
        values = first.modules
        _refuse_nothing(first, subjects)
        matching = first.match(names)
        plan = plan_of(matching, values)
        if all(modules.is_recorded(value) for value in values.values()):
            transfer = "keep"  # neither can be given the other's weights
        if transfer == "copy":
            copy_weights(plan, values)
        else:
            _settle_flattening(matching, plan)
        keep = transfer == "keep"
        known = _still_true(first, training)
        layers = sum(len(r.calls) * (1 + (side not in known)) for side, r in first.records.items())
        first.records.clear()
        with progress.work(layers, "layers"):  # in each precision, as far as not done before
            run = functools.partial(_run, first=matching, names=names, seed=seed, keep=keep)
            run32 = run(Pair(values, first.inputs, "float32", training, known))
            if details.wanted():
                places = localise(run32.pair, run32.matching, run32.report)
                run32.local = table(places, places.faults)
            narrow = wide.Narrow(subjects, plan, run32, keep)
            run64, twins = wide.run(narrow, evidence.sample(run32), run)
            if run64 is None:
                run32.local = ()
            if run64 is None and not run32.traces:  # let go of too soon
                run32 = run(Pair(values, first.inputs, "float32", training))
        return explained(run32, run64, subjects, twins)


def _still_true(first: Pair, training: bool) -> dict[str, ModuleRecord]:
    """torch's first pass, made with its own weights in the same mode; none where either changes."""
    other = training or any(modules.is_recorded(value) for value in first.modules.values())
    return {} if other else {"torch": first.records["torch"]}


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
            array = slot.look()
            if array.dtype.kind == "f" and (count := _nans(array)):
                raise InvalidInput(
                    f"{subjects[side].label}: {slot.path} holds NaN ({count} of {array.size} "
                    "values), which would hide every difference; load weights that are numbers"
                )


def _nans(array: np.ndarray) -> int:
    with np.errstate(all="ignore"):
        some = np.isnan(array.sum())  # so is the sum of infinities of both signs
    return int(np.isnan(array).sum()) if some else 0


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


def first_record(
    subjects: Mapping[str, Subject],
    inputs: Mapping[str, Mapping[str, np.ndarray]],
    seed: int,
    *,
    backward: bool,
) -> tuple[Mapping[str, Subject], Pair]:
    """Run both once, to see their layers; the tf side in the order of axes that it takes.

    Args:
        backward: torch's backward pass too: its weights stay, so this pass need not be repeated.
    """
    given = {side: _in_order(subjects[side], inputs[side]) for side in SIDES}
    values = {side: subjects[side].value for side in SIDES}
    pair = Pair(values, given, "float32")
    if modules.is_recorded(values["tf"]) and not modules.is_recorded(values["torch"]):
        return subjects, _first_of_torch(pair, subjects, seed)
    with modules.unmoved([values["torch"]]):
        _record_torch(pair, subjects, seed, backward=backward)
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


def _record_torch(
    pair: Pair, subjects: Mapping[str, Subject], seed: int, *, backward: bool = False
) -> None:
    try:
        with modules.without_dropout(pair.modules["torch"], "torch", pair.training):
            pair.records["torch"] = modules.record_pass(
                pair.modules["torch"],
                "torch",
                [modules.typed(a, pair.dtype) for a in pair.inputs["torch"]],
                cotangents=modules.cotangents(seed),
                dtype=pair.dtype,
                training=pair.training,
                backward=backward,
                **pair.options("torch"),
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
    orders: Mapping[str, str] | None = None,
    backward: bool = True,
) -> Pair:
    try:
        return pair.record(seed, last_order=last_order, orders=orders, backward=backward)
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


def plan_of(matching: Matching, values: Mapping[str, Any]) -> Plan:
    return transfer.plan(matching, values)


def copy_weights(plan: Plan, values: Mapping[str, Any]) -> None:
    transfer.copy(plan, source=wide.source(values))


def _settle_flattening(matching: Matching, plan: Plan) -> None:
    transfer.settle_flattening(matching, plan)


def _run(
    pair: Pair,
    first: Matching,
    names: Mapping[str, str] | None,
    seed: int,
    keep: bool,
    between: Callable[[], None] = lambda: None,
) -> Run:
    """Record both sides, and compare.

    Args:
        between: called once torch has run, before tf does; it may add the tf module.
    """
    before = _statistics(pair)
    # a pass may move running statistics, in evaluation too where the user's code says so
    with ExitStack() as stack:
        stack.enter_context(modules.unmoved(list(pair.modules.values())))
        if "torch" not in pair.records and not modules.is_recorded(pair.modules.get("tf")):
            _record_torch(pair, _named(pair), seed, backward=True)
        known = list(pair.modules)
        between()
        late = [module for side, module in pair.modules.items() if side not in known]
        stack.enter_context(modules.unmoved(late))
        subjects = _named(pair)
        orders = settled_orders(pair, first, names, seed) if first.doubtful else {}
        _recorded(pair, subjects, seed, last_order=first.last_order, orders=orders)
        matching = pair.match(names)
        plan = plan_of(matching, pair.modules)
        if keep:
            _settle_flattening(matching, plan)
        traces = modules.traces(pair, matching, plan)
        for record in pair.records.values():
            record.parameter_gradients.clear()  # the traces hold them
    report = build_report(
        traces, expect_zero=EXPECT_ZERO, dtype=pair.dtype, subject={"dtype": pair.dtype}
    )
    return Run(pair, matching, plan, traces, report, before)


def settled_orders(
    pair: Pair, first: Matching, names: Mapping[str, str] | None, seed: int
) -> dict[str, str]:
    """In which order each output is, told by a forward pass with equal weights.

    The first pass cannot tell: its weights were not equal yet.
    """
    probe = replace(pair, records=dict(pair.records))
    with modules.unmoved(list(pair.modules.values())):
        _recorded(probe, _named(pair), seed, last_order=first.last_order, backward=False)
    return modules.output_orders(probe, probe.match(names))


def _named(pair: Pair) -> dict[str, Subject]:
    return {side: Subject(side, side, "module", module) for side, module in pair.modules.items()}


def _statistics(pair: Pair) -> dict[str, np.ndarray]:
    slots = weights.slots(pair.modules["torch"]) if pair.training else []
    return {f"state/{s.path}": s.get() for s in slots if not s.trainable}
