"""Recording a user's module: its layers, weights and gradients, in float32 and float64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from parity import progress
from parity.backends import get_backend
from parity.checks import Cotangents
from parity.debug import modules
from parity.debug import wide as float64
from parity.debug.inputs import bind
from parity.debug.module_check import copy_weights, first_record, plan_of, settled_orders
from parity.debug.precision import Twin, keras_twin, torch_twin
from parity.debug.subjects import Subject, describe
from parity.errors import InvalidInput, ParityError
from parity.recording.modules import put_record, put_weights, state_of
from parity.recording.trees import Book


def record_whole_module(
    subject: Subject,
    arrays: Mapping[str, np.ndarray],
    trace: Book,
    options: Mapping[str, Any],
    partner: Any = None,
) -> None:
    """Write the module's runs into the trace.

    Args:
        partner: a recording of the other side, whose weights the module is given first.
    """
    order = _names_in_order(subject, arrays)
    given, weigh = [arrays[n] for n in order], modules.cotangents(options["seed"])
    trace.meta["order"] = order
    wide: Any = None
    if partner is not None:
        subject, given, wide, weigh = _like(partner, subject, arrays, options)
    runs: dict[str, Any] = {}
    trace.meta["runs"] = runs
    runs["float32"] = _run(subject, subject.value, given, "float32", trace, options, weigh)
    twin = Twin(wide) if wide is not None else _twin(subject, given)
    if twin.module is None:
        trace.meta["no_float64"] = twin.reason
        return
    with progress.work(len(runs["float32"]["run"]["calls"]), "layers"):
        runs["float64"] = _run(subject, twin.module, given, "float64", trace, options, weigh)


def _names_in_order(subject: Subject, arrays: Mapping[str, np.ndarray]) -> list[str]:
    value = subject.value
    forward = getattr(value, "forward", None) or getattr(value, "call", None)
    return bind(list(arrays), forward, subject.label)


def _like(
    partner: Any, subject: Subject, arrays: Mapping[str, np.ndarray], options: Mapping[str, Any]
) -> tuple[Subject, list[np.ndarray], Any, Cotangents]:
    """The subject with the partner's weights, its inputs, its float64 twin and output weights."""
    side = str(subject.side)
    pair = {side: subject, str(partner.subject.side): partner.subject}
    subjects: Mapping[str, Subject] = {name: pair[name] for name in modules.SIDES}
    given = dict.fromkeys(modules.SIDES, arrays)
    with _untouched(subject.value, side, bool(options["training"])):
        subjects, first = first_record(subjects, given, options["seed"], backward=False)
    matching = first.match(None)
    plan = plan_of(matching, first.modules)
    copy_weights(plan, first.modules)
    bare = replace(first, records={})
    orders = settled_orders(bare, matching, None, options["seed"]) if matching.doubtful else {}
    twins = float64.twins(subjects, first.inputs)
    wide = {name: twin.module for name, twin in twins.items()}
    if None not in wide.values():
        float64.widen(plan, first.modules, wide, exact=True)
    weigh = modules.cotangents(options["seed"])
    theirs = partner.subject.value.record
    turn = modules.weights_in_tf_order if side == "tf" else modules.weights_in_torch_order
    return (
        subjects[side],
        list(first.inputs[side]),
        wide[side],
        turn(weigh, theirs, matching.last_order, orders),
    )


@contextmanager
def _untouched(module: Any, side: str, training: bool) -> Iterator[None]:
    """The user's module keeps its mode and its running statistics."""
    mode = getattr(module, "training", False)
    if side == "torch":
        module.train(training)
    try:
        with modules.unmoved([module]):
            yield
    finally:
        if side == "torch":
            module.train(mode)


def _run(
    subject: Subject,
    module: Any,
    given: Sequence[np.ndarray],
    dtype: str,
    trace: Book,
    options: Mapping[str, Any],
    weigh: Cotangents,
) -> dict[str, Any]:
    """One pass; weights are written as they were before it."""
    side, training = str(subject.side), bool(options["training"])
    with _untouched(module, side, training):
        try:
            with modules.without_dropout(module, side, training):
                record = modules.record_pass(
                    module,
                    side,
                    [modules.typed(a, dtype) for a in given],
                    cotangents=weigh,
                    dtype=dtype,
                    training=training,
                )
        except ParityError:
            raise
        except Exception as error:
            shapes = ", ".join(str(tuple(a.shape)) for a in given)
            raise InvalidInput(
                f"{subject.label} refuses inputs of shapes {shapes} in {dtype}: {describe(error)}"
            ) from error
        after = state_of(module) if training else {}
    held = put_weights(trace, module, record, dtype)
    run = put_record(trace, record, dtype)
    for path, value in after.items():
        trace.add(f"{dtype}/state/{path}", value)
    state = {path: {"at": f"{dtype}/state/{path}"} for path in after}
    return {"weights": held, "run": run, "state": state}


def _twin(subject: Subject, given: Sequence[np.ndarray]) -> Twin:
    if subject.side == "torch":
        return torch_twin(subject.value)

    def build(module: Any) -> None:
        from parity.backends.tf_backend import call_model

        tensors = [get_backend("tf").tensor(modules.typed(a, "float64")) for a in given]
        call_model(module, tensors, training=False)

    return keras_twin(subject, build)
