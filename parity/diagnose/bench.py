"""The bench for trying hypotheses: the pair, its recordings, the tf side under a change."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from parity import progress, tried
from parity.backends import numpy_intercept
from parity.debug.calls import Caller, Outcome
from parity.debug.functions import Run, comparable
from parity.debug.intermediates import Value, first_unmatched, pair, tf_values, torch_values
from parity.debug.sites import Site
from parity.diagnose.hypotheses import Arrays, Change, Finding, Hypothesis, Score
from parity.diagnose.samples import same_inputs, varied
from parity.diagnose.scoring import Scoring
from parity.trace import Trace

_UNTRIED: Any = object()

SECONDS = 16.0
"""Computing time after which no further hypothesis is tried for one difference. The time of this
thread, not of the clock: what is found must not depend on what else the machine does."""

TOTAL = 26.0
"""The same for all the differences of one pair of functions, one after the other."""


class Bench(Scoring):
    """The pair, its recordings, and the means to run the tf side under a change.

    Attributes:
        dtype: in which hypotheses are tried: float64 where that run says something.
        torch, tf: the traces under comparison.
        ours, theirs: intermediate values of tf and of torch.
        sites: operations of the tf side in the order of their first execution, with their calls.
        known: values that both sides have though neither run makes them: outputs of paired layers.
    """

    def __init__(
        self,
        callers: Mapping[str, Caller],
        inputs: Mapping[str, Arrays],
        base: Run,
        *,
        targets: Collection[str] | None = None,
        seconds: float = SECONDS,
    ) -> None:
        """
        Args:
            base: the run to explain.
            targets: the entries that differ in the run that the user sees; others may differ by
                float32's rounding without being part of what is to be explained.
        """
        self.callers, self.inputs = callers, inputs
        self.dtype = base.dtype
        self.bound_dtype = "float64" if base.dtype == "given" else base.dtype
        self.torch, self.tf = base.traces["torch"], base.traces["tf"]
        self.applied = Change()
        self.torch_settings: list[tuple[str, Mapping[str, Any]]] = []
        self.torch_steps: list[Any] = []
        self.keras_objects: list[Any] = []
        self.keras_steps: list[Any] = []
        self.library_calls: list[Any] = []
        self.tried = 0
        self.untried: list[str] = []
        self.minor: list[dict[str, Any]] = []
        self.residue = 0.0
        self.known: Sequence[tuple[str, np.ndarray]] = ()
        self.stacked = False
        self._second: tuple[Any, Outcome] | None = _UNTRIED
        self.seconds = seconds
        self.last = time.thread_time() + max(TOTAL, seconds)  # of all differences
        self.begin()
        self._torch_outcome = base.outcomes["torch"]
        self.given: Arrays = inputs["tf"]
        for caller in callers.values():
            caller.wrap = numpy_intercept.traced
        self.gaps: dict[str, float] = {}
        self.coarse: dict[str, float] = {}
        self.targets = targets
        self.start(self.tf)
        self.record()

    def record(self) -> None:
        """Run both sides with every intermediate recorded; tf under the changes applied so far."""
        from parity.backends import (
            keras_objects,
            keras_steps,
            library_calls,
            tf_edits,
            tf_intercept,
        )
        from parity.recording.functions import seen_by

        seen = seen_by(self.callers["torch"], self.inputs["torch"], self.dtype)
        self.theirs = torch_values(seen.calls, self._typed("torch"))
        self.torch_settings = seen.settings
        self.torch_steps = seen.steps
        sessions: list[Any] = []

        def recording(edit: Any) -> AbstractContextManager[Any]:
            @contextmanager
            def inside() -> Iterator[Any]:
                with (
                    keras_objects.objects() as self.keras_objects,
                    keras_steps.steps() as self.keras_steps,
                    library_calls.recorded() as self.library_calls,
                    tf_intercept.intercept(edit, record=True) as session,
                ):
                    sessions.append(session)
                    yield session

            return inside()

        outcome = self._tf(self.applied, recording)
        self.eager = self._comparable(outcome) if outcome is not None else None
        self.calls = [c for s in sessions for c in s.calls]
        self.ours = tf_values(self.calls, self._typed("tf"), tf_edits.array)
        pair(self.ours, self.theirs, self.bound_dtype)
        pair(self.theirs, self.ours, self.bound_dtype)
        self.sites: dict[Site, list[Value]] = {}
        for value in self.ours:
            if value.site is not None and not value.backward:
                self.sites.setdefault(value.site, []).append(value)
        self.suspect = first_unmatched(self.ours)
        self.torch_suspect = first_unmatched(self.theirs)

    def input(self, name: str) -> Callable[[Any], Any]:
        """What an edit takes for an input of the run that it is in."""
        return lambda call: self.callers["tf"].current[name]

    def trial(self, change: Change) -> Outcome | None:
        """Run the tf side once; None where it cannot run so."""
        from parity.backends import tf_intercept

        self.tried += 1
        return self._tf(
            self.applied + change, lambda edit: tf_intercept.intercept(edit, eagerly=change.eagerly)
        )

    def _tf(
        self, change: Change, context: Callable[[Any], Any], inputs: Arrays | None = None
    ) -> Outcome | None:
        from parity.backends import tf_edits

        inputs = self.inputs["tf"] if inputs is None else inputs
        for alter in change.inputs:
            inputs = alter(inputs)
        self.given = inputs
        edit = tf_edits.together(change.edits[::-1]) if change.edits else None

        @contextmanager
        def inside() -> Iterator[None]:
            with ExitStack() as stack:
                for make in change.inside:
                    stack.enter_context(make())
                session = stack.enter_context(context(edit))
                if change.rehearsed and session is not None:
                    session.rehearsing = True
                    stack.enter_context(_rehearsal(self.callers["tf"], session))
                yield

        try:
            return self.callers["tf"](inputs, self.dtype, inside=inside)
        except Exception:  # whatever the user's code raises on other values: not this cause
            return None

    def run(self, change: Change, context: Callable[[Any], Any]) -> Outcome | None:
        """Run the tf side under the changes so far and this one, in a context of one's own."""
        self.tried += 1
        return self._tf(self.applied + change, context)

    def arrays(self, side: str) -> list[np.ndarray]:
        """The inputs of a side in the dtype of the run."""
        return self._typed(side)

    def try_(self, hypothesis: Hypothesis) -> Finding | None:
        """The finding, if the change removes the difference or moves it further on."""
        score = self.measure(hypothesis.change)
        if score is not None and (hypothesis.bound or hypothesis.values_only):
            score = self.values_only(score)
        improves = score is not None and self.improves(score)
        tried.note(
            hypothesis.cause,
            self.before.at_first,
            None if score is None else score.at_first,
            removes=improves,
            place=hypothesis.place or (hypothesis.site.place if hypothesis.site else ""),
        )
        return Finding(hypothesis, self.before.at_first, score) if score and improves else None

    def measure(self, change: Change) -> Score | None:
        """How far from torch the tf side is under a change."""
        outcome = self.trial(change)
        return None if outcome is None else self._scored(outcome, change)

    def _scored(self, outcome: Outcome, change: Change) -> Score:
        trace = self._comparable(outcome)
        for alter in change.outputs:
            trace = alter(trace)
        return self.score(trace)

    def traced(self, change: Change) -> Trace | None:
        outcome = self.trial(change)
        return None if outcome is None else self._comparable(outcome)

    def _comparable(self, outcome: Outcome) -> Trace:
        outcomes = {"torch": self._torch_outcome, "tf": outcome}
        trace = comparable(outcomes, self.inputs["torch"])["tf"]
        # no gradient on either side now is one of zero, as before
        for name in sorted(outcome.without):
            entry = f"grad/{name}"
            if entry in self.torch and entry not in trace:
                trace.add(entry, np.zeros_like(self.torch[entry]))
        return trace

    def _typed(self, side: str) -> list[np.ndarray]:
        from parity.debug.calls import typed

        return [typed(a, self.dtype) for a in self.inputs[side].values()]

    @property
    def parameters(self) -> list[str]:
        """Names of the tf function's parameters, for inputs that came without names."""
        caller = self.callers["tf"]
        try:
            made = caller.made(self.dtype, self.inputs["tf"])
            return list(inspect.signature(made).parameters)
        except Exception:
            return []

    def begin(self) -> None:
        """The time for one difference runs from now on."""
        progress.step("trying causes")
        progress.within(self.seconds)
        self.allow(self.seconds)

    @property
    def expired(self) -> bool:
        return time.thread_time() > self.deadline

    def allow(self, seconds: float) -> None:
        """Time of its own for what is tried next, within what is left of the whole."""
        self.deadline = min(time.thread_time() + seconds, self.last)

    def apply(self, change: Change) -> None:
        """Keep a change and look at what is left."""
        outcome = self._tf(self.applied + change, _plain)
        if outcome is not None:
            self.applied = self.applied + change
            self.begin()
            self.start(self._comparable(outcome))
            self.record()

    def confirm(self, finding: Finding) -> Finding:
        """Whether it also explains the difference for other inputs."""
        if self._second is _UNTRIED:
            self._second = self._other_sample()
        sample = self._second
        if sample is None or finding.hypothesis.bound:
            return finding
        inputs, torch = sample
        change = self.applied + finding.hypothesis.change
        outcome = self._tf(change, _plain, inputs)
        if outcome is None:
            return finding
        both = comparable({"torch": torch, "tf": outcome}, inputs)
        trace, kept = both["tf"], self.torch
        for alter in change.outputs:
            trace = alter(trace)
        self.torch = both["torch"]
        try:
            failing = [n for n in self.torch if self.gap_of(trace, n)[0] > self.wide(n, trace)]
        finally:
            self.torch = kept
        if finding.hypothesis.values_only:
            failing = [n for n in failing if not n.startswith("grad/")]
        holds = not failing if finding.complete else self.first not in failing
        return replace(finding, confirmed=holds)

    def _other_sample(self) -> tuple[Any, Outcome] | None:
        """Other inputs of the same kind, and what torch makes of them."""
        inputs = varied(self.inputs["tf"])
        if inputs is None or not same_inputs(self.inputs):
            return None
        try:
            torch = self.callers["torch"](inputs, self.dtype)
        except Exception:
            return None
        return inputs, torch


@contextmanager
def _rehearsal(caller: Caller, session: Any) -> Iterator[None]:
    caller.rehearsed = session.again
    try:
        yield
    finally:
        caller.rehearsed = None


def _plain(edit: Any) -> AbstractContextManager[Any]:
    from parity.backends import tf_intercept

    return tf_intercept.intercept(edit)
