"""Training chains: each link of an update in isolation, and whole updates in sequence.

Isolated first: one link at a time gets the inputs and the state that the reference recorded, so a
difference belongs to that link and rounding cannot pile up. Composed second: whole updates follow
each other on the same batches and draws, each side living with its own results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, ClassVar

import numpy as np

from parity.checks import cast_inputs, rng_for
from parity.checks.learner import (
    Example,
    Learner,
    Link,
    State,
    call_link,
    learner_of,
    rounded,
    run_dtype,
    tensors,
)
from parity.component import Check, Recording, Side
from parity.errors import InvalidInput
from parity.report import Problem
from parity.trace import Trace

Change = Callable[[Any], None]


@dataclass(frozen=True, kw_only=True)
class TrainingCheck(Check):
    """What the training checks have in common.

    Attributes:
        config: first argument of the builder.
        initial_state: every entry of a learner's state, in canonical layout.
        examples: (generator, count) -> that many batches, each with its draws.
        builder: name of the function of every sibling that makes a learner, called as
            ``builder(config, dtype=..., device=..., variant=...)``.
    """

    config: Any
    initial_state: Callable[[np.random.Generator], Mapping[str, np.ndarray]]
    examples: Callable[[np.random.Generator, int], Sequence[Example]]
    builder: str = "make_learner"

    def _material(self, count: int) -> tuple[State, list[Example]]:
        """The initial state and the examples, in float64 values that float32 can hold."""
        rng = rng_for(self)
        state = cast_inputs(self.initial_state(rng), "float64")
        examples = self.examples(rng, count)
        if len(examples) != count:
            raise InvalidInput(f"{self.label}: {len(examples)} examples, asked for {count}")
        return state, [
            (cast_inputs(batch, "float64"), cast_inputs(draws, "float64"))
            for batch, draws in examples
        ]

    def _learner(self, side: Side) -> Learner:
        return learner_of(side, self.builder, self.config)

    def _reference(self, sides: Mapping[str, Side]) -> Learner:
        if "reference" not in sides:
            raise InvalidInput(
                f"{self.label}: the inputs come from the reference, which is missing"
            )
        return self._learner(sides["reference"])


@dataclass(frozen=True, kw_only=True)
class LinkCheck(TrainingCheck):
    """One link of an update, with the reference's inputs and the reference's state forced on it.

    ``name`` is the link's. What the link returns is recorded, every state entry that it writes,
    every entry that it changed though it should not have, and that no gradient passes through its
    constants.

    Attributes:
        links: the whole chain, in order: earlier links make the inputs of later ones.
        at: the updates at which the link is checked; the reference makes the updates before.
    """

    kind: ClassVar[str] = "chain"
    links: tuple[Link, ...]
    at: tuple[int, ...] = (0, 3)
    expect_zero: tuple[str, ...] = ("*/no_gradient/*",)

    @property
    def link(self) -> Link:
        """The link under test."""
        found = [link for link in self.links if link.name == self.name]
        if len(found) != 1:
            raise InvalidInput(f"{self.label}: the chain has {len(found)} links of that name")
        return found[0]

    def record(self, sides: Mapping[str, Side]) -> Recording:
        """Run the link on every side at every chosen update."""
        dtype = run_dtype(sides)
        traces = {name: Trace(side=name) for name in sides}
        for index, state, inputs in self._moments(self._reference(sides)):
            forced_state, forced = rounded(state, dtype), rounded(inputs, dtype)
            for name, side in sides.items():
                values = self._run(side, forced_state, forced)
                traces[name].extend(values, scope=f"update/{index:02d}")
        return Recording(traces)

    def _moments(self, reference: Learner) -> Iterator[tuple[int, State, dict[str, Any]]]:
        """(update, state before the link, inputs of the link), as the reference has them."""
        state, examples = self._material(max(self.at) + 1)
        reference.load_state(state)
        for index, (batch, draws) in enumerate(examples):
            before = reference.state()
            if index in self.at:
                yield index, *self._walk(reference, {**batch, **draws})
                reference.load_state(before)
            reference.update(batch, draws)

    def _walk(self, reference: Learner, values: dict[str, Any]) -> tuple[State, dict[str, Any]]:
        """Go through the chain up to the link under test."""
        for link in self.links:
            inputs = {name: values[name] for name in link.inputs}
            if link.name == self.link.name:
                return reference.state(), inputs
            values.update(call_link(reference, link, inputs))
        raise AssertionError("self.link is one of self.links")

    def _run(self, side: Side, state: State, inputs: dict[str, Any]) -> dict[str, Any]:
        learner, link = self._learner(side), self.link
        learner.load_state(state)
        outputs = call_link(learner, link, tensors(side, learner, inputs))
        written = {
            name: value
            for name, value in learner.state().items()
            if any(fnmatchcase(name, glob) for glob in link.writes)
            or not np.array_equal(value, state[name].astype(value.dtype), equal_nan=True)
        }
        zero = {name: self._gradient(side, learner, inputs, name) for name in link.constants}
        return {**outputs, "state": written, "no_gradient": zero}

    def _gradient(
        self, side: Side, learner: Learner, inputs: dict[str, Any], name: str
    ) -> np.ndarray:
        """Gradient of the link's output with respect to an input that must get none."""
        if side.is_reference:
            return np.zeros_like(inputs[name])
        others = tensors(side, learner, inputs)
        method = getattr(learner, self.name)
        _, gradients = side.backend.value_and_grad(
            lambda **wrt: method(*(wrt.get(n, others[n]) for n in self.link.inputs)),
            {name: inputs[name]},
            wrt=(name,),
            cotangents=lambda _, shape: np.ones(shape),
            dtype=side.dtype,
            device=side.device,
        )
        gradient = gradients[name]
        if gradient is None:
            return np.zeros_like(inputs[name], dtype=side.dtype)
        return gradient


@dataclass(frozen=True, kw_only=True)
class UpdateSequenceCheck(TrainingCheck):
    """Whole updates, one after the other, on the same batches and draws; no value is forced.

    After every update the losses and the whole state are recorded. Where a side runs compiled, the
    same side in eager mode (``torch-eager``) is compared as well.

    Attributes:
        updates: how many.
        changes: update -> what is done to the learner before it, e.g. a new learning rate.
        traces: graphs that a compiled learner makes, however many updates it does: more means
            that it compiles again and again, fewer that it is not compiled.
    """

    kind: ClassVar[str] = "composed"
    traces: int
    updates: int = 20
    changes: Mapping[int, Change] = field(default_factory=dict)

    def record(self, sides: Mapping[str, Side]) -> Recording:
        """Run all updates on every side."""
        state, examples = self._material(self.updates)
        anchors = self._anchors(sides, state, examples)
        recording = Recording({})
        for name, side in self._with_twins(sides).items():
            before = self._learner(side).traces
            recording.traces[name] = self._run(name, side, anchors, examples)
            made, declared = self._learner(side).traces - before, self._declared(side)
            reused = made == 0 and before > 0
            if side.variant != "eager":
                recording.compiles[name] = made or before
            if made != declared and not reused:
                details = {"side": name, "traces": made, "declared": declared}
                recording.problems.append(Problem("retrace", "update", details))
        return recording

    def _with_twins(self, sides: Mapping[str, Side]) -> dict[str, Side]:
        return with_eager_twins(sides)

    def _declared(self, side: Side) -> int:
        return 0 if side.variant == "eager" else self.traces

    def _anchors(
        self, sides: Mapping[str, Side], state: State, examples: list[Example]
    ) -> dict[int, State]:
        """update -> the state that is forced before it."""
        return {0: rounded(state, run_dtype(sides))}

    def _run(
        self, name: str, side: Side, anchors: dict[int, State], examples: list[Example]
    ) -> Trace:
        learner, trace = self._learner(side), Trace(side=name)
        for index, (batch, draws) in enumerate(examples):
            if index in anchors:
                learner.load_state(anchors[index])
            if index in self.changes:
                self.changes[index](learner)
            made = learner.update(tensors(side, learner, batch), tensors(side, learner, draws))
            trace.extend(made, scope=f"update/{index:02d}")
            trace.extend(learner.state(), scope=f"update/{index:02d}/state")
        return trace


@dataclass(frozen=True, kw_only=True)
class LockstepCheck(UpdateSequenceCheck):
    """Whole updates, with the reference's state forced before each one.

    Rounding cannot pile up from update to update, so float32 can be judged as strictly as a link.
    """

    kind: ClassVar[str] = "lockstep"
    updates: int = 4

    def _anchors(
        self, sides: Mapping[str, Side], state: State, examples: list[Example]
    ) -> dict[int, State]:
        reference, dtype, anchors = self._reference(sides), run_dtype(sides), {}
        reference.load_state(state)
        for index, (batch, draws) in enumerate(examples):
            anchors[index] = rounded(reference.state(), dtype)
            if index in self.changes:
                self.changes[index](reference)
            reference.update(batch, draws)
        return anchors


def with_eager_twins(sides: Mapping[str, Side]) -> dict[str, Side]:
    """The sides, and for each that runs compiled the same one in eager mode."""
    twins = {
        f"{name}-eager": replace(side, name=f"{name}-eager", variant="eager")
        for name, side in sides.items()
        if side.variant != "eager"
    }
    return {**sides, **twins}
