"""Hypotheses and the bench on which they are tried.

A hypothesis is a change to how the tf side runs: an operation edited, an argument exchanged, an
attribute of a layer set to the other side's. It counts as a cause only where the run with the
change agrees with torch; nothing is reported because it looks likely.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from parity import progress, tried
from parity.backends import numpy_intercept
from parity.debug.calls import Caller, Outcome
from parity.debug.functions import Run, comparable
from parity.debug.intermediates import Value, first_unmatched, pair, tf_values, torch_values
from parity.debug.sites import Site
from parity.tolerance import explained_bound, float32_rounding_bound
from parity.trace import Trace

Arrays = Mapping[str, np.ndarray]
Inside = Callable[[], AbstractContextManager[Any]]
_SHARE = 1e-3
"""Where a run holds float32 constants, a cause must still remove all but this share."""
_UNTRIED: Any = object()
SECONDS = 12.0
"""Computing time after which no further hypothesis is tried for one difference. The time of this
thread, not of the clock: what is found must not depend on what else the machine does."""
TOTAL = 20.0
"""The same for all the differences of one pair of functions, one after the other."""


@dataclass(frozen=True)
class Change:
    """What is done differently when the tf side runs.

    Attributes:
        edits: edits of operations (see ``parity.backends.tf_edits``).
        inside: contexts entered around the run (an attribute set, a function replaced).
        inputs: maps the inputs to others.
        outputs: maps the recorded trace to another.
        eagerly: ``tf.function`` bodies run eagerly.
        rehearsed: the function runs twice, and edits may use what the first run made.
    """

    edits: tuple[Any, ...] = ()
    inside: tuple[Inside, ...] = ()
    inputs: tuple[Callable[[Arrays], Arrays], ...] = ()
    outputs: tuple[Callable[[Trace], Trace], ...] = ()
    eagerly: bool = True
    rehearsed: bool = False

    def __add__(self, other: Change) -> Change:
        return Change(
            # an edit that comes later is inside: it sees the operation first
            self.edits + other.edits,
            self.inside + other.inside,
            self.inputs + other.inputs,
            self.outputs + other.outputs,
            self.eagerly and other.eagerly,
            self.rehearsed or other.rehearsed,
        )


@dataclass(frozen=True)
class Hypothesis:
    """A cause that could be, and the change that would undo it.

    Attributes:
        cause: its id in ``parity.diagnose.causes``.
        facts: what the wording needs.
        site: the operation it is about.
        rank: lower is the better explanation where several fit.
        bound: it holds a number or array of these very inputs; others cannot confirm it.
        values_only: it changes what the function is given, so that gradients are of something else.
    """

    cause: str
    change: Change
    facts: Mapping[str, Any] = field(default_factory=dict)
    site: Site | None = None
    rank: float = 1.0
    place: str = ""
    bound: bool = False
    values_only: bool = False


@dataclass(frozen=True)
class Score:
    """How far a run of the tf side is from torch.

    Attributes:
        first: the first entry that differs.
        failing: all that do.
        error: the largest absolute difference over all entries; infinite for other shapes.
        at_first: that of the entry which differed first before anything was changed.
        exact: what agrees does so to the precision of the run, not just to float32's.
    """

    first: str | None
    failing: tuple[str, ...]
    error: float
    at_first: float
    exact: bool = True

    @property
    def agrees(self) -> bool:
        return self.first is None


@dataclass(frozen=True)
class Direct:
    """A cause that was found by computing both sides' entry from one value, without another run.

    Attributes:
        after: what is left between torch and the entry so computed.
    """

    cause: str
    facts: Mapping[str, Any]
    after: float
    rank: float = 1.0
    place: str = ""


@dataclass(frozen=True)
class Finding:
    """A hypothesis that was tried and removes the difference, or the first part of it.

    Attributes:
        confirmed: it does so for other inputs as well; None where that could not be tried.
    """

    hypothesis: Hypothesis
    before: float
    score: Score
    exact: bool = True
    confirmed: bool | None = None

    @property
    def complete(self) -> bool:
        return self.score.agrees

    @property
    def order(self) -> tuple[bool, bool, bool, float]:
        """For sorting: what explains everything, exactly and for other inputs too, first."""
        return (
            not self.complete,
            self.confirmed is False,
            not self.exact,
            self.hypothesis.rank,
        )


class Bench:
    """The pair, its recordings, and the means to run the tf side under a change.

    Attributes:
        dtype: in which hypotheses are tried: float64 where that run says something.
        torch, tf: the traces under comparison.
        ours, theirs: intermediate values of tf and of torch.
        sites: operations of the tf side in the order of their first execution, with their calls.
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

    def start(self, tf: Trace) -> None:
        """Take this trace of the tf side as what is to be explained."""
        self.tf = tf
        for name in self.torch:
            finite = self.torch[name][np.isfinite(self.torch[name].astype(np.float64))]
            scale = float(np.abs(finite).max()) if finite.size else 1.0
            self.coarse[name] = float32_rounding_bound(scale)
        self.gaps = {}
        self.first: str | None = None
        self.before = self.score(tf)
        self.first = self.before.first
        self.gaps = {name: self._gap(tf, name)[0] for name in self.torch}

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
            score = self._values_only(score)
        improves = score is not None and self.improves(score)
        tried.note(
            hypothesis.cause,
            self.before.at_first,
            None if score is None else score.at_first,
            removes=improves,
            place=hypothesis.place or (hypothesis.site.place if hypothesis.site else ""),
        )
        return Finding(hypothesis, self.before.at_first, score) if score and improves else None

    def _values_only(self, score: Score) -> Score:
        """Values of torch's own, put in the place of tf's, have no gradient to be compared."""
        if self.first is None or self.first.startswith("grad/"):
            return score
        if any(not name.startswith("grad/") for name in score.failing):
            return score
        return replace(score, first=None, failing=(), error=score.at_first)

    def measure(self, change: Change) -> Score | None:
        """How far from torch the tf side is under a change."""
        outcome = self.trial(change)
        return None if outcome is None else self._scored(outcome, change)

    def _scored(self, outcome: Outcome, change: Change) -> Score:
        trace = self._comparable(outcome)
        for alter in change.outputs:
            trace = alter(trace)
        return self.score(trace)

    def improves(self, score: Score) -> bool:
        """Nothing differs any more; or the first difference is gone and no other came before it."""
        if score.agrees:
            return True
        if self.first is None or self.first in score.failing or score.first is None:
            return False
        names = list(self.torch)
        if score.first not in names or self.first not in names:
            return False
        return names.index(score.first) > names.index(self.first)

    def score(self, trace: Trace) -> Score:
        """Compare a trace of the tf side with torch's."""
        failing: list[str] = []
        error = at_first = 0.0
        exact = True
        names = dict.fromkeys([*self.torch, *trace])
        first = getattr(self, "first", None)
        for name in names:
            gap, bound = self._gap(trace, name)
            if gap > self._loose(name, bound):
                failing.append(name)
            strict = self.targets is None or name in self.targets
            exact = exact and (gap <= max(bound, self.residue) or name in failing or not strict)
            error = max(error, gap)
            if first is None and failing:
                first = failing[0]
            if name == first:
                at_first = gap
        return Score(failing[0] if failing else None, tuple(failing), error, at_first, exact)

    def _loose(self, name: str, bound: float) -> float:
        """Float32 constants inside a float64 run leave their rounding behind whatever the cause."""
        if self.targets is not None and name not in self.targets:
            bound = max(bound, self.coarse.get(name, bound))
        before = self.gaps.get(name)
        if before is None or self.bound_dtype != "float64" or not np.isfinite(before):
            return bound
        if before <= bound:
            return bound
        return max(bound, min(self.coarse.get(name, bound), _SHARE * before))

    def _gap(self, trace: Trace, name: str) -> tuple[float, float]:
        if name not in trace or name not in self.torch:
            return np.inf, 0.0
        a, b = self.torch[name], trace[name]
        if a.shape != b.shape:
            return np.inf, 0.0
        if a.size == 0:
            return 0.0, 0.0
        x, y = a.astype(np.float64), b.astype(np.float64)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        if (np.isfinite(x) != np.isfinite(y))[~same].any():
            return np.inf, 0.0
        with np.errstate(invalid="ignore"):
            gap = float(np.where(same, 0.0, np.abs(x - y)).max())
        finite = np.abs(x[np.isfinite(x)])
        return gap, explained_bound(self.bound_dtype, float(finite.max()) if finite.size else 1.0)

    def residual(self, trace: Trace, names: Iterable[str]) -> np.ndarray | None:
        """The differences of some entries as one vector, each entry scaled to size one."""
        parts = []
        for name in names:
            if name not in trace or trace[name].shape != self.torch[name].shape:
                return None
            a, b = self.torch[name].astype(np.float64), trace[name].astype(np.float64)
            scale = float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) or 1.0
            parts.append(((b - a) / scale).reshape(-1))
        vector = np.concatenate(parts) if parts else None
        return vector if vector is not None and np.isfinite(vector).all() else None

    def traced(self, change: Change) -> Trace | None:
        outcome = self.trial(change)
        return None if outcome is None else self._comparable(outcome)

    def _comparable(self, outcome: Outcome) -> Trace:
        outcomes = {"torch": self._torch_outcome, "tf": outcome}
        trace = comparable(outcomes, self.inputs["torch"])["tf"]
        for name in outcome.without:  # no gradient on either side now is one of zero, as before
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
            failing = [n for n in self.torch if self._gap(trace, n)[0] > self._wide(n, trace)]
        finally:
            self.torch = kept
        if finding.hypothesis.values_only:
            failing = [n for n in failing if not n.startswith("grad/")]
        holds = not failing if finding.complete else self.first not in failing
        return replace(finding, confirmed=holds)

    def _wide(self, name: str, trace: Trace) -> float:
        bound = self._gap(trace, name)[1]
        return max(bound, self.coarse.get(name, bound)) if self.gaps.get(name, 0) > bound else bound

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


def same_inputs(inputs: Mapping[str, Arrays]) -> bool:
    """Both sides are given the same arrays."""
    torch, tf = list(inputs["torch"].values()), list(inputs["tf"].values())
    return len(torch) == len(tf) and all(a is b for a, b in zip(torch, tf, strict=True))


def varied(inputs: Arrays) -> dict[str, np.ndarray] | None:
    """Inputs a little different: zeros, ties, masks and signs stay what they are."""
    found, changed = {}, False
    for number, (name, array) in enumerate(inputs.items()):
        array = np.asarray(array)
        if array.dtype.kind != "f":
            found[name] = array
            continue
        if set(np.unique(array)) == {0.0, 1.0} and array.size > 2:
            flipped = array.reshape(-1).copy()  # a mask, with some elements more or less
            for place in {0, array.size // 2}:
                flipped[place] = 1.0 - flipped[place]
            found[name], changed = flipped.reshape(array.shape), True
            continue
        if set(np.unique(array)) <= {0.0, 1.0}:
            found[name] = array
            continue
        changed = True
        power = 1.07 if number % 2 == 0 else 0.94
        if np.all((array >= 0) & (array <= 1)):
            other = array.astype(np.float64) ** power
        else:
            other = array.astype(np.float64) * power
        found[name] = other.astype(np.float32).astype(array.dtype)
    return found if changed else None


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


def search(
    bench: Bench, tiers: Sequence[Sequence[Callable[[Bench], Iterable[Hypothesis]]]]
) -> list[Finding]:
    """Try hypotheses tier by tier; stop behind the first tier that explains everything.

    Returns the findings of that tier, best first; where nothing explains everything exactly and
    for other inputs too, all that remove at least the first difference.
    """
    found: list[Finding] = []
    for tier in tiers:
        for hypothesis in _all(bench, tier):
            finding = bench.try_(hypothesis)
            if finding is not None:
                found.append(replace(finding, exact=finding.score.exact))
        found = _confirmed(bench, found)
        best = found[0] if found else None
        if best is not None and best.complete and best.exact and best.confirmed is not False:
            break
        if bench.expired:
            break
    return found


def _all(
    bench: Bench, tier: Sequence[Callable[[Bench], Iterable[Hypothesis]]]
) -> Iterator[Hypothesis]:
    for generate in tier:
        try:
            for hypothesis in generate(bench):
                if bench.expired:
                    return
                yield hypothesis
        except Exception as error:  # what was found so far is worth more than this kind of cause
            bench.untried.append(f"{generate.__module__}.{generate.__name__}: {error!r}")


def _confirmed(bench: Bench, found: list[Finding]) -> list[Finding]:
    """Each cause's best finding, confirmed on other inputs; best first."""
    best: dict[str, list[Finding]] = {}
    for finding in sorted(found, key=lambda f: f.order):
        best.setdefault(finding.hypothesis.cause, []).append(finding)
    kept = []
    for findings in best.values():
        for finding in findings[:4]:
            done = finding if finding.confirmed is not None else bench.confirm(finding)
            kept.append(done)
            if done.confirmed is not False:
                break
    return sorted(kept, key=lambda f: f.order)
