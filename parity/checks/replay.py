"""Buffers of rows: any sequence of additions and samples leaves the same contents on every side.

The subject is a class ``check.name`` with the constructor ``(config, *, dtype, device)`` and
``add(row)``, ``add_batch(rows)``, ``sample(indices)``, ``size``, ``state()``, ``load_state(...)``;
rows are mappings field -> array. The check knows nothing about what the fields mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from parity.backends.steps import Step, make_step
from parity.checks import cast, rng_for
from parity.checks.update import with_eager
from parity.component import Check, Recording, Side
from parity.errors import InvalidInput
from parity.report import Problem
from parity.trace import Trace, join

ACTIONS = ("add", "add_batch", "sample", "draw", "call", "reload", "hold")


@dataclass(frozen=True)
class Operation:
    """One thing done to every buffer.

    Attributes:
        action: ``add`` (one row), ``add_batch`` (rows with a leading axis), ``sample`` (indices),
            ``draw`` (uniform numbers, turned into indices by the check's ``draw`` function and
            sampled in one step), ``call`` (any other method, by name), ``reload`` (the state moves
            into a new buffer) or ``hold`` (the state and the size are asked for, and looked at
            after the last operation only: what was handed out must not change with the buffer).
        values: field -> array for additions; an array for ``sample`` and ``draw``; argument ->
            array for ``call``.
        method: what ``call`` calls; what it returns, if anything, is recorded.
    """

    action: str
    values: Any = None
    method: str = ""

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise InvalidInput(f"unknown operation {self.action!r}; known: {', '.join(ACTIONS)}")
        if bool(self.method) != (self.action == "call"):
            raise InvalidInput(f"operation {self.action!r} with method {self.method!r}")

    @property
    def label(self) -> str:
        """The method that is called, or the action."""
        return self.method or self.action


@dataclass(frozen=True, kw_only=True)
class ReplayCheck(Check):
    """A sequence of operations on a buffer; ``name`` is its class.

    Attributes:
        config: first argument of the class.
        operations: from a generator, what to do, in order.
        draw: function of the sibling ``(uniforms, size) -> indices``, for ``draw`` operations.
        rounded: False leaves float64 values as they are: a buffer that stores them in float32 on
            the way would pass with values that float32 can hold. For float64 runs only.

    Entries per operation k: ``<k>/<action>/indices`` and ``<k>/<action>/sample/<field>`` for those
    that sample, ``<k>/<method>/returned`` for those called by name, ``<k>/<action>/state/<name>``
    for those that change the contents, and at the end ``held/<k>/...`` for what ``hold`` and
    ``reload`` took from the buffer. In compiled modes
    every action is compiled once for each set of shapes that it meets.
    """

    kind: ClassVar[str] = "replay"
    config: Any
    operations: Callable[[np.random.Generator], Sequence[Operation]]
    draw: str = "sample_indices"
    rounded: bool = True

    def record(self, sides: Mapping[str, Side]) -> Recording:
        operations = self.operations(rng_for(self))
        if not any(o.action in ("sample", "draw", "call") for o in operations):
            raise InvalidInput(f"{self.label}[{self.case}]: nothing is sampled")
        subjects = {name: _Subject(side, self) for name, side in with_eager(sides).items()}
        for subject in subjects.values():
            for index, operation in enumerate(operations):
                subject.perform(index, operation)
            subject.trace.extend(subject.held, scope="held")
        return Recording(
            traces={name: subject.trace for name, subject in subjects.items()},
            problems=[p for subject in subjects.values() for p in subject.retraces(operations)],
        )


class _Subject:
    """One side's buffer, its compiled steps and its trace."""

    def __init__(self, side: Side, check: ReplayCheck) -> None:
        self.side, self.check = side, check
        self.trace = Trace(side=side.name)
        self.buffer = self._new()
        self.steps: dict[str, Step] = {}
        self.held: dict[str, Any] = {}

    def perform(self, index: int, operation: Operation) -> None:
        scope = f"{index}/{operation.label}"
        if operation.action == "reload":
            state, self.buffer = self.buffer.state(), self._new()
            self.buffer.load_state(state)
            self.held[str(index)] = {"state": state}
            self.steps.clear()  # they hold the old buffer
        elif operation.action == "hold":
            self.held[str(index)] = {"state": self.buffer.state(), "size": self.buffer.size}
        else:
            self.trace.extend(self._call(operation) or {}, scope=scope)
        if operation.action not in ("sample", "draw", "hold"):
            self.trace.extend(self.buffer.state(), scope=join(scope, "state"))

    def retraces(self, operations: Sequence[Operation]) -> list[Problem]:
        """A step that was traced more often than its arguments changed in shape."""
        since = max((i for i, o in enumerate(operations) if o.action == "reload"), default=-1)
        found = []
        for action, step in self.steps.items():
            shapes = {_shapes(o.values) for o in operations[since + 1 :] if o.label == action}
            traces = step.traces()
            if self.side.variant != "eager" and traces > len(shapes):
                details = {"traces": traces, "declared": len(shapes)}
                found.append(Problem("retrace", join(self.side.name, action), details))
        return found

    def _call(self, operation: Operation) -> Any:
        name, values = operation.label, operation.values
        if name not in self.steps:
            own = operation.action != "call"
            function = getattr(self, f"_{name}") if own else self._method(name)
            self.steps[name] = make_step(self.side, function)
        return self.steps[name].call(self._tensors(values))

    def _method(self, name: str) -> Any:
        def call(arguments: Any) -> Any:
            returned = getattr(self.buffer, name)(**arguments)
            return {} if returned is None else {"returned": returned}

        return call

    def _tensors(self, values: Any) -> Any:
        if isinstance(values, Mapping):
            return {name: self._tensor(array) for name, array in values.items()}
        return self._tensor(values)

    def _tensor(self, values: Any) -> Any:
        array = np.asarray(values)
        if self.check.rounded or array.dtype.kind != "f":
            array = cast(array, self.side.dtype)
        else:
            array = array.astype(self.side.dtype)
        return self.side.backend.tensor(array, device=self.side.device)

    def _new(self) -> Any:
        side = self.side
        make = getattr(side.impl, self.check.name)
        return make(self.check.config, dtype=side.dtype, device=side.device)

    def _add(self, row: Any) -> None:
        self.buffer.add(row)

    def _add_batch(self, rows: Any) -> None:
        self.buffer.add_batch(rows)

    def _sample(self, indices: Any) -> Any:
        return {"sample": self.buffer.sample(indices)}

    def _draw(self, uniforms: Any) -> Any:
        indices = getattr(self.side.impl, self.check.draw)(uniforms, self.buffer.size)
        return {"indices": indices, "sample": self.buffer.sample(indices)}


def _shapes(values: Any) -> tuple[Any, ...]:
    if isinstance(values, Mapping):
        return tuple((name, np.shape(array)) for name, array in values.items())
    return np.shape(values)
