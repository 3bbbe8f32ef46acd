"""The function check: values, gradients, per-sample values, broadcasting, stopped gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from parity.backends.base import Broadcast
from parity.backends.numpy_backend import Differentiable
from parity.checks import Cotangents, cast_inputs, cotangents_for, rng_for
from parity.component import Check, Recording, Side
from parity.errors import InvalidInput
from parity.report import Problem
from parity.trace import Trace, flatten, join

Outcome = tuple[dict[str, Any], dict[str, "np.ndarray | None"], list[Broadcast]]


@dataclass(frozen=True, kw_only=True)
class FunctionCheck(Check):
    """Call the contract's function of this name on every side with the same inputs.

    Entries: ``output/<path>``, ``grad/<input>``, ``no_grad/<input>``, ``per_sample/<path>``,
    ``per_sample_grad/<input>``. Problems: ``broadcast`` (operands of different rank grew beyond
    both) and ``gradient`` (one flows where none may, or none where one must).

    Attributes:
        inputs: rng -> input name -> array; floating values are rounded to float32.
        options: keyword arguments that are no arrays.
        gradients: inputs whose gradient is compared. The reference's comes from
            ``<name>_vjp(*, cotangents, **inputs, **options)``.
        no_gradient: inputs that must get no gradient: None or all zeros, on every side.
        per_sample: options under which the function returns its values before the reduction.
        allow_broadcast: the function is meant to combine operands of different rank.
    """

    kind: ClassVar[str] = "function"
    inputs: Callable[[np.random.Generator], Mapping[str, np.ndarray]]
    options: Mapping[str, Any] = field(default_factory=dict)
    gradients: tuple[str, ...] = ()
    no_gradient: tuple[str, ...] = ()
    per_sample: Mapping[str, Any] | None = None
    allow_broadcast: bool = False

    def __post_init__(self) -> None:
        if both := set(self.gradients) & set(self.no_gradient):
            raise InvalidInput(f"{self.label}: {sorted(both)} both with and without a gradient")
        object.__setattr__(self, "expect_zero", (*self.expect_zero, "no_grad/*"))

    def record(self, sides: Mapping[str, Side]) -> Recording:
        inputs = dict(self.inputs(rng_for(self)))
        if unknown := [n for n in (*self.gradients, *self.no_gradient) if n not in inputs]:
            raise InvalidInput(f"{self.label}: no input {unknown}; there are {sorted(inputs)}")
        recording = Recording({name: Trace(side=name) for name in sides})
        passes = [("", self.options)]
        if self.per_sample is not None:
            passes.append(("per_sample", {**self.options, **self.per_sample}))
        for scope, options in passes:
            outcomes = {
                name: self._call(side, cast_inputs(inputs, side.dtype), options, scope)
                for name, side in sides.items()
            }
            for name, outcome in outcomes.items():
                zeros = {n: np.zeros(np.shape(a), sides[name].dtype) for n, a in inputs.items()}
                self._write(recording, name, outcome, zeros, scope)
        return recording

    def _call(
        self, side: Side, inputs: dict[str, np.ndarray], options: Mapping[str, Any], scope: str
    ) -> Outcome:
        function = partial(getattr(side.impl, self.name), **options)
        wrt = [*self.gradients, *(() if scope else self.no_gradient)]
        cotangents = cotangents_for(self, scope)
        events: list[Broadcast] = []

        def watched(**tensors: Any) -> Any:
            with side.backend.watch_broadcasts() as seen:
                try:
                    return function(**tensors)
                finally:
                    events.extend(seen)

        if side.is_reference:
            return (*self._reference(side, function, inputs, wrt, cotangents, options), [])
        if side.variant == "eager":
            subject: Callable[..., Any] = watched
        else:  # compiled code runs no Python that could watch: look at one plain call first
            device = {"dtype": side.dtype, "device": side.device}
            watched(**{n: side.backend.tensor(a, **device) for n, a in inputs.items()})
            subject = side.backend.compiled(function, side.variant)
        outputs, gradients = side.backend.value_and_grad(
            subject,
            inputs,
            wrt=wrt,
            cotangents=cotangents,
            dtype=side.dtype,
            device=side.device,
        )
        return dict(flatten(outputs)), gradients, [] if self.allow_broadcast else events

    def _reference(
        self,
        side: Side,
        function: Callable[..., Any],
        inputs: dict[str, np.ndarray],
        wrt: list[str],
        cotangents: Cotangents,
        options: Mapping[str, Any],
    ) -> tuple[dict[str, Any], dict[str, np.ndarray | None]]:
        if self.gradients:
            vjp = getattr(side.impl, f"{self.name}_vjp", None)
            if vjp is None:
                raise InvalidInput(
                    f"{self.label} compares gradients: {side.impl.__name__} needs a function "
                    f"{self.name}_vjp(*, cotangents, **inputs, **options)"
                )
            function = Differentiable(function, partial(vjp, **options))
        else:
            wrt = []
        outputs, gradients = side.backend.value_and_grad(
            function, inputs, wrt=wrt, cotangents=cotangents, dtype=side.dtype
        )
        return dict(flatten(outputs)), gradients

    def _write(
        self,
        recording: Recording,
        name: str,
        outcome: Outcome,
        zeros: Mapping[str, np.ndarray],
        scope: str,
    ) -> None:
        outputs, gradients, events = outcome
        trace, problems = recording.traces[name], recording.problems
        for path, value in outputs.items():
            trace.add(join(scope or "output", path), value)
        problems += [broadcast_problem(name, scope or "output", e) for e in dict.fromkeys(events)]
        for source in self.gradients:
            entry = join(f"{scope}_grad" if scope else "grad", source)
            gradient = gradients.get(source)
            trace.add(entry, zeros[source] if gradient is None else gradient)
            if gradient is None:
                details = {"side": name, "input": source, "found": "none", "wanted": "some"}
                problems.append(Problem("gradient", entry, details))
        for source in () if scope else self.no_gradient:
            gradient = gradients.get(source)
            trace.add(f"no_grad/{source}", zeros[source] if gradient is None else gradient)
            if gradient is not None and np.any(gradient):
                details = {"side": name, "input": source, "found": "some", "wanted": "none"}
                problems.append(Problem("gradient", f"no_grad/{source}", details))


def broadcast_problem(side: str, name: str, event: Broadcast) -> Problem:
    """The finding that an operation's result outgrew operands of different rank."""
    details = {
        "side": side,
        "operation": event.operation,
        "shapes": [list(shape) for shape in event.shapes],
        "result": list(event.result),
        "where": event.where,
    }
    return Problem("broadcast", name, details)
