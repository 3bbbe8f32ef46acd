"""What a recorder saw of torch's operations, settings and optimizer steps, kept in a trace.

Hypotheses about two functions compare intermediate values, numbers and settings of the two sides;
with these in the recording they can be tried where torch is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parity.debug.sites import Site
from parity.recording.layers import layer_from
from parity.recording.trees import Sink, get, put
from parity.trace import Trace, join

MOST = 3000
"""Operations whose values are kept: no more are ever compared."""
LARGEST = 1_000_000
"""Elements of a value that is kept."""


@dataclass(frozen=True)
class RecordedSite(Site):
    """A place in code that is not here: its line and expression, as they were."""

    line: str = ""
    expression: str = ""

    @property
    def place(self) -> str:
        return self.line

    @property
    def source(self) -> str:
        return self.expression


@dataclass
class SeenCall:
    """One operation."""

    op: str
    site: Site
    output: list[np.ndarray]
    numbers: list[float]
    backward: bool
    inputs: list[int] | None = None


@dataclass
class SeenStep:
    """One step of an optimizer of either framework."""

    optimizer: Any
    names: list[str]
    gradients: list[np.ndarray | None]
    before: list[np.ndarray]
    settings: list[dict[str, Any]]
    after: list[np.ndarray]


@dataclass
class Seen:
    """All that was seen of one run."""

    calls: list[SeenCall] = field(default_factory=list)
    settings: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    steps: list[SeenStep] = field(default_factory=list)


def put_seen(sink: Sink, scope: str, seen: Any) -> dict[str, Any]:
    """Write a run's operations, settings and optimizer steps below ``scope``."""
    calls: list[dict[str, Any]] = []
    for call in seen.calls:
        kept = [a for a in call.output if 0 < a.size <= LARGEST and a.dtype.kind in "biufc"]
        if len(calls) >= MOST or not kept:
            continue
        name = join(scope, "operation", str(len(calls)))
        calls.append({
            "op": call.op, "output": put(sink, name, kept), "backward": call.backward,
            "numbers": [str(float(n)) for n in call.numbers],
            "site": [call.site.op, call.site.place, call.site.source],
        })  # fmt: skip
    settings = [[owner, _plain(values)] for owner, values in seen.settings]
    return {"calls": calls, "settings": settings,
            "steps": put_steps(sink, join(scope, "step"), seen.steps)}  # fmt: skip


def put_steps(sink: Sink, scope: str, steps: Sequence[Any]) -> list[dict[str, Any]]:
    """Write the steps of optimizers: what they were given, and what they made of it."""
    numbers: dict[int, int] = {}
    found = []
    for index, step in enumerate(steps):
        own = join(scope, str(index))
        cls = type(step.optimizer)
        found.append({
            "optimizer": numbers.setdefault(id(step.optimizer), len(numbers)),
            "class": [cls.__module__, cls.__name__],
            "own": _plain(getattr(step.optimizer, "__dict__", {})),
            "names": list(getattr(step, "names", map(str, range(len(step.before))))),
            "gradients": put(sink, join(own, "gradient"), list(step.gradients)),
            "before": put(sink, join(own, "before"), list(step.before)),
            "after": put(sink, join(own, "after"), list(step.after)),
            "settings": [_plain(values) for values in step.settings],
        })  # fmt: skip
    return found


def get_seen(trace: Trace, facts: Mapping[str, Any]) -> Seen:
    """What :func:`put_seen` wrote."""
    calls = []
    for call in facts["calls"]:
        op, line, expression = call["site"]
        site = RecordedSite(str(op), (), 0, str(line), str(expression))
        numbers = [float(n) for n in call["numbers"]]
        output = get(trace, call["output"])
        calls.append(SeenCall(str(call["op"]), site, output, numbers, bool(call["backward"])))
    settings = [(str(owner), _back(values)) for owner, values in facts["settings"]]
    return Seen(calls, settings, get_steps(trace, facts["steps"]))


def get_steps(trace: Trace, facts: Sequence[Mapping[str, Any]]) -> list[SeenStep]:
    """What :func:`put_steps` wrote."""
    optimizers: dict[int, Any] = {}
    found = []
    for step in facts:
        number = int(step["optimizer"])
        if number not in optimizers:
            optimizers[number] = layer_from({"classes": [step["class"]], "attributes": {}}, {})
            vars(optimizers[number]).update(_back(step["own"]))
        arrays = {n: get(trace, step[n]) for n in ("gradients", "before", "after")}
        settings = [_back(values) for values in step["settings"]]
        found.append(SeenStep(optimizers[number], [str(n) for n in step["names"]],
                              arrays["gradients"], arrays["before"], settings,
                              arrays["after"]))  # fmt: skip
    return found


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that are numbers, words or short lists of them."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float):
            found[str(name)] = {"number": repr(value)}
        elif value is None or isinstance(value, (bool, int, str)):
            found[str(name)] = {"is": value}
        elif isinstance(value, (list, tuple)) and all(isinstance(v, (int, float)) for v in value):
            found[str(name)] = {"numbers": [repr(v) for v in value]}
    return found


def _back(values: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, fact in values.items():
        if "number" in fact:
            found[name] = float(fact["number"])
        elif "numbers" in fact:
            found[name] = tuple(float(v) for v in fact["numbers"])
        else:
            found[name] = fact["is"]
    return found
