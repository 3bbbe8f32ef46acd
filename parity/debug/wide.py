"""The float64 run of a pair of modules: its twins, their weights, and how much of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from parity import weights
from parity.backends import get_backend
from parity.backends.base import Slot
from parity.debug import evidence, modules, transfer
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

    made = {}
    for side, subject in subjects.items():
        if modules.is_recorded(subject.value):
            made[side] = Twin(subject.value.wide, subject.value.reason)
        elif side == "torch":
            made[side] = torch_twin(subject.value)
        else:
            made[side] = _tf_twin(subject, given["tf"])
    return made


def _tf_twin(subject: Subject, given: Sequence[np.ndarray]) -> Twin:
    def build(module: Any) -> None:
        from parity.backends.tf_backend import call_model

        tensors = [get_backend("tf").tensor(modules.typed(a, "float64")) for a in given]
        call_model(module, tensors, training=False)

    return keras_twin(subject, build)


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


def _has_it(moved: transfer.Moved, *twins: Slot) -> bool:
    """Whether the twin was widened from the very values that the other side's twin holds."""
    slots = (moved.torch, moved.tf, *twins)
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


@dataclass(frozen=True)
class Narrow:
    """A pair of modules and its float32 run, of which float64 is to speak.

    Attributes:
        plan: which tensors of the two belong together.
        run: the float32 run; it is let go of before its arrays would stand beside float64's.
        keep: the sides keep the weights that they have.
    """

    subjects: Mapping[str, Subject]
    plan: Plan
    run: Run
    keep: bool

    @property
    def values(self) -> dict[str, Any]:
        return {side: subject.value for side, subject in self.subjects.items()}

    @property
    def rests(self) -> bool:
        """Whether nothing looks at torch's weights once it has run, if the sides agree."""
        looked_at = self.keep or self.run.pair.training or not self.run.report.excusable
        return not looked_at and not any(modules.is_recorded(v) for v in self.values.values())


Again = Callable[..., "Run"]
"""``again(pair, between=...)`` records and compares a pair."""


def run(narrow: Narrow, some: Sample | None, again: Again) -> tuple[Run | None, dict[str, Twin]]:
    """The run of the twins, on some rows where these settle it, else on all; and the twins.

    Without a twin of both sides there is no run. The float32 run holds nothing any more where
    there is one, nor where the pair is large.
    """
    given = narrow.run.pair.inputs
    if evidence.is_large(narrow.values["torch"]):
        narrow.run.release()
        if narrow.rests:
            return _one_by_one(narrow, some, again)
    made = twins(narrow.subjects, given if some is None else some.inputs)
    if some is not None and any(twin.module is None for twin in made.values()):
        made, some = twins(narrow.subjects, given), None  # a model that takes no fewer rows
    if any(twin.module is None for twin in made.values()):
        return None, made
    narrow.run.release()
    both = {side: twin.module for side, twin in made.items()}
    widen(narrow.plan, narrow.values, both, exact=not narrow.keep)
    return _settled(_pair(narrow, both), some, again, narrow), made


class _NoTwin(ParityError):
    """There is no float64 tf module."""


def _one_by_one(
    narrow: Narrow, some: Sample | None, again: Again
) -> tuple[Run | None, dict[str, Twin]]:
    """The same, where tf's twin is made once torch's has run and its weights are away."""
    made = {"torch": torch_twin(narrow.subjects["torch"].value)}
    if made["torch"].module is None:
        return None, twins(narrow.subjects, narrow.run.pair.inputs)
    both = {"torch": made["torch"].module}

    def add(pair: Pair) -> None:
        if "tf" in both:
            return
        made["tf"] = _tf_twin(narrow.subjects["tf"], pair.inputs["tf"])
        if made["tf"].module is None:
            raise _NoTwin(made["tf"].reason)
        both["tf"] = made["tf"].module
        widen(narrow.plan, narrow.values, both, exact=True)

    try:
        return _settled(_pair(narrow, both), some, again, narrow, add), made
    except _NoTwin:
        return None, made


def _pair(narrow: Narrow, both: Mapping[str, Any]) -> Pair:
    pair = narrow.run.pair
    return Pair(both, pair.inputs, "float64", pair.training)


def _settled(
    pair: Pair,
    some: Sample | None,
    again: Again,
    narrow: Narrow,
    add: Callable[[Pair], None] = lambda pair: None,
) -> Run:
    """On some rows where these settle it, else on all.

    Args:
        add: gives the pair its tf module if it has none.
    """
    if some is not None:
        try:
            cut = replace(
                pair,
                inputs=some.inputs,
                records={},
                without=some.without,
                late=some.late,
                memory=_spare(narrow.plan),
            )
            found = _frugal(cut, again, narrow, add)
        except ParityError:  # a model that takes no other number of rows
            found = None
        if found and found.report.verdict is Verdict.AGREE and not found.plan.problems:
            about = {**found.report.subject, "rows": list(some.rows), "of": some.of}
            about["without"] = sorted(some.without["torch"])
            return replace(found, report=found.report.with_(subject=about))
    return _frugal(pair, again, narrow, add)


def _spare(plan: Plan) -> int:
    """Bytes of torch's float64 gradients that may stay in memory while few rows run.

    To write a gradient to a file costs more than to make it. A third of them takes no more room
    than the tf side's, which are made as they are compared, would take.
    """
    return sum(prod(moved.torch.shape) for moved in plan.moved) * 8 // 3


def _frugal(pair: Pair, again: Again, narrow: Narrow, add: Callable[[Pair], None]) -> Run:
    """A run that does not hold torch's weights in float64 while the tf twin runs.

    Where the sides agree nothing looks at the twin again, so its weights stay away.
    """
    if not narrow.rests:
        return again(pair)
    wake: list[Callable[[], None]] = []
    settled = False
    # what tf's twin is widened from stays; of the rest it holds the same float32 values
    read = {id(n) for m in narrow.plan.moved if not _has_it(m) for n in m.torch.natives}

    def between() -> None:
        wake.append(rest(pair.modules["torch"], narrow.values["torch"], read))
        add(pair)

    try:
        found = again(pair, between=between)
        settled = found.report.verdict is Verdict.AGREE and not found.plan.problems
        return found
    finally:
        for put_back in wake if not settled else ():
            put_back()
