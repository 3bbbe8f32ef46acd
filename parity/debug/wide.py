"""The float64 run of a pair of modules: its twins, their weights, and how much of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from parity import weights
from parity.backends import get_backend
from parity.backends.base import Slot
from parity.debug import modules, transfer
from parity.debug.evidence import Sample
from parity.debug.matching import SIDES
from parity.debug.module_report import Run
from parity.debug.modules import Pair
from parity.debug.precision import Twin, keras_twin, rest, torch_twin
from parity.debug.subjects import Subject
from parity.debug.transfer import Plan
from parity.errors import ParityError
from parity.verdict import Verdict


def twins(
    subjects: Mapping[str, Subject], given: Mapping[str, Sequence[np.ndarray]]
) -> dict[str, Twin]:
    """The float64 copies of both sides, or why there are none.

    Args:
        given: inputs, with which a new tf object is called once so that it has weights.
    """

    def build(module: Any) -> None:
        from parity.backends.tf_backend import call_model

        tensors = [get_backend("tf").tensor(modules.typed(a, "float64")) for a in given["tf"]]
        call_model(module, tensors, training=False)

    made = {}
    for side, subject in subjects.items():
        if modules.is_recorded(subject.value):
            made[side] = Twin(subject.value.wide, subject.value.reason)
        else:
            made[side] = (
                torch_twin(subject.value) if side == "torch" else keras_twin(subject, build)
            )
    return made


def source(values: Mapping[str, Any]) -> str:
    """Whose weights both sides get: torch's, or those of a recorded tf side."""
    fixed = modules.is_recorded(values["tf"]) and not modules.is_recorded(values["torch"])
    return "tf" if fixed else "torch"


def widen(plan: Plan, values: Mapping[str, Any], both: Mapping[str, Any], *, exact: bool) -> None:
    """Give the tf twin torch's float64 values.

    Two float32 biases add up to a number that float32 cannot hold, so the sum is taken anew.

    Args:
        both: the twins of ``values``.
        exact: for all tensors; else only where the two sides held the same float32 values.
    """
    giving = source(values)
    if modules.is_recorded(both["torch" if giving == "tf" else "tf"]):
        return  # recorded in float64 as well
    slots = {side: _mirror(values[side], both[side]) for side in SIDES}
    for moved in plan.moved:
        left, right = (slots[side].get(key) for side, key in zip(SIDES, moved.keys, strict=True))
        if left is None or right is None or (exact and _has_it(moved, left, right)):
            continue
        if not exact and not _same_in_float32(moved):
            continue
        if giving == "tf":
            left.set(transfer.fitted(right.look(), left))
            continue
        value = left.look()
        if moved.rows is not None:
            value = value[moved.rows]
        right.set(transfer.fitted(value, right))


def _has_it(moved: transfer.Moved, left: Slot, right: Slot) -> bool:
    """Whether the twin was widened from the very values that the other side's twin holds."""
    slots = (moved.torch, moved.tf, left, right)
    alone = all(len(slot.natives) == 1 for slot in slots)
    return alone and all("float32" in str(s.natives[0].dtype) for s in slots[:2])


def _same_in_float32(moved: transfer.Moved) -> bool:
    a, b = moved.torch.look(), moved.tf.look()
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


def run(
    pair: Pair,
    some: Sample | None,
    again: Callable[..., Run],
    *,
    originals: Mapping[str, Any] | None,
) -> Run:
    """The run of the twins: on some rows where these settle it, else on all.

    Args:
        again: ``again(pair, between=...)`` records and compares a pair.
        originals: what the twins were made from; None where their weights are read after the pass.
    """
    if some is not None:
        try:
            found = _frugal(
                replace(pair, inputs=some.inputs, records={}, without=some.without),
                again,
                originals,
            )
        except ParityError:  # a model that takes no other number of rows
            found = None
        if found and found.report.verdict is Verdict.AGREE and not found.plan.problems:
            about = {**found.report.subject, "rows": list(some.rows), "of": some.of}
            about["without"] = sorted(some.without["torch"])
            return replace(found, report=found.report.with_(subject=about))
    return _frugal(pair, again, originals)


def _frugal(pair: Pair, again: Callable[..., Run], originals: Mapping[str, Any] | None) -> Run:
    """A run that does not hold torch's weights in float64 while the tf twin runs.

    Where the sides agree nothing looks at the twin again, so its weights stay away.
    """
    if originals is None or any(modules.is_recorded(value) for value in originals.values()):
        return again(pair)
    wake: list[Callable[[], None]] = []
    settled = False
    try:
        found = again(
            pair, between=lambda: wake.append(rest(pair.modules["torch"], originals["torch"]))
        )
        settled = found.report.verdict is Verdict.AGREE and not found.plan.problems
        return found
    finally:
        for put_back in wake if not settled else ():
            put_back()
