"""The environment door: two environments, the same seeds, the same actions, step by step.

Each side is run twice where it can be made anew: what a side does not repeat from its own seed
(a clock, a generator that is not seeded) says nothing about the other side, and is named.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity import progress
from parity.checks import seeded
from parity.debug import environment_seeding, stepping
from parity.debug.stepping import Rollout
from parity.debug.subjects import Subject, call_factory
from parity.errors import InvalidInput
from parity.report import Problem, Report, build_report
from parity.tolerance import DEFAULTS
from parity.trace import Trace
from parity.verdict import Verdict

SIDES = ("torch", "tf")


@dataclass
class Side:
    """One environment, and how to get a fresh one; None where it cannot be had."""

    label: str
    subject: Subject
    first: Any

    def fresh(self) -> Any:
        """A new environment, or a copy of the given one before it was used."""
        if self.subject.factory is not None:
            return call_factory(self.subject.factory, self.label)
        return copy.deepcopy(self.first)

    def spare(self) -> Any:
        """A fresh one that may be changed."""
        return self.fresh()

    def again(self) -> bool:
        """Whether :meth:`fresh` works."""
        try:
            self.fresh()
        except Exception:
            return False
        return True

    def run(self, environment: Any, actions: Sequence[Any], seed: int, name: str = "") -> Rollout:
        """Step an environment of this side; ``name`` is the side's in the trace."""
        return stepping.run(environment, actions, seed=seed, label=self.label, side=name)

    def spaces(self) -> Iterator[tuple[str, np.ndarray]]:
        """What its spaces declare, as entries."""
        return stepping.spaces(self.first)

    def seeding(self, seed: int) -> dict[str, bool]:
        """What its resets do with their seed, where that can be found out."""
        return environment_seeding.properties(self.fresh, seed, self.label)

    def unsteady(self, actions: Sequence[Any], rollout: Rollout, seed: int) -> list[str]:
        """Entries that it answers differently when it is run again from the same seed."""
        return unsteady_entries(self, actions, rollout, seed)


@dataclass
class Bench:
    """What the hypotheses may use.

    Attributes:
        run: ``(environment, actions, side) -> rollout`` with the seed of this check.
    """

    sides: Mapping[str, Side]
    actions: Sequence[Any]
    rollouts: Mapping[str, Rollout]
    report: Report
    seed: int
    remade: bool
    ignored: frozenset[str] = frozenset()

    def run(
        self, environment: Any, actions: Sequence[Any], side: str, seed: int | None = None
    ) -> Rollout:
        """Run an environment as the check does."""
        start = self.seed if seed is None else seed
        return self.sides[side].run(environment, actions, start)


def check_environments(
    subjects: Mapping[str, Subject],
    inputs: Mapping[str, np.ndarray] | None,
    *,
    steps: int | None,
    seed: int,
) -> Report:
    """Compare two environments on seeded rollouts.

    Entries: those of :class:`parity.debug.stepping.Rollout`, in the order in which they happen,
    then ``space/...``, the sizes and bounds that the environments declare.

    Args:
        inputs: ``[steps, ...]`` actions; drawn from the torch side's action space where None.
        steps: how many; None for enough to reach the time limit.

    Raises:
        InvalidInput: an environment cannot be reset or stepped, or no actions can be drawn.
    """
    from parity.recording.environments import agreed_actions

    sides = {n: _side(s, seed) for n, s in subjects.items()}
    remade = all(side.again() for side in sides.values())
    actions = agreed_actions(sides) or chosen_actions(sides, inputs, steps, seed)
    with progress.work((4 if remade else 2) * len(actions), "steps"):  # each side, and again
        rollouts = {
            name: side.run(side.fresh() if remade else side.first, actions, seed, name)
            for name, side in sides.items()
        }
        return _judged(sides, actions, rollouts, seed, remade)


def _side(subject: Subject, seed: int) -> Side:
    from parity.recording.environments import RecordedEnvironment, RecordedSide

    if isinstance(subject.value, RecordedEnvironment):
        return RecordedSide(subject.label, subject, seed)
    return Side(subject.label, subject, subject.value)


def chosen_actions(
    sides: Mapping[str, Side],
    inputs: Mapping[str, np.ndarray] | None,
    steps: int | None,
    seed: int,
) -> list[Any]:
    """The given actions, or some from the space of the first side that has one.

    Raises:
        InvalidInput: none are given and none can be drawn, or more than one input is given.
    """
    if inputs:
        if len(inputs) != 1:
            raise InvalidInput(
                f"two environments take one input, their actions; given: {', '.join(inputs)}"
            )
        given = stepping.rows(next(iter(inputs.values())))
        if not given:
            raise InvalidInput("no actions; a check on nothing proves nothing")
        return given if steps is None else given[:steps]
    count = stepping.steps_for([s.first for s in sides.values()]) if steps is None else steps
    if count < 1:
        raise InvalidInput(f"steps={count}: a rollout has at least one step")
    with_space = [s for s in sides.values() if getattr(s.first, "action_space", None) is not None]
    chosen = with_space[0] if with_space else next(iter(sides.values()))
    rng = seeded("actions", str(seed))
    return stepping.draw_actions(chosen.first, count, rng, chosen.label)


def _judged(
    sides: Mapping[str, Side],
    actions: Sequence[Any],
    rollouts: Mapping[str, Rollout],
    seed: int,
    remade: bool,
) -> Report:
    unsteady: dict[str, list[str]] = {}
    if remade:
        unsteady = {n: s.unsteady(actions, rollouts[n], seed) for n, s in sides.items()}
    volatile = {n for names in unsteady.values() for n in names if "/info/" in n}
    traces = {name: _whole(sides[name], rollout, volatile) for name, rollout in rollouts.items()}
    _drop_lone_infos(traces, lone := _lone_infos(rollouts, volatile))
    if remade:
        _add_seeding(traces, sides, seed)
    problems = [
        Problem("environment-stopped", side, {"why": r.stopped})
        for side, r in rollouts.items()
        if r.stopped
    ] + [Problem("info-missing", name, {"has": has}) for name, has in lone.items()]
    report = build_report(
        traces,
        expect_zero=("*",),
        problems=problems,
        subject=_subject(sides, actions, unsteady, remade),
    )
    report = _first_place(report)
    if report.passed:
        return report
    from parity.debug.environment_causes import causes

    bench = Bench(sides, actions, rollouts, report, seed, remade, frozenset(volatile))
    report = report.with_(causes=causes(bench, unsteady))
    return report.with_(verdict=Verdict.LATENT) if _within_float32(report) else report


def _within_float32(report: Report) -> bool:
    """Whether all that differs are float64 numbers that float32 could not tell apart.

    A simulator that computes with float32 actions or states keeps its rounding in float64 rewards.
    """
    apart = [d for entry in report.failing for d in entry.differences if not d.agrees]
    return report.excusable and all(
        d.dtypes == ("float64", "float64") and d.needed <= DEFAULTS["float32"].atol for d in apart
    )


def _whole(side: Side, rollout: Rollout, volatile: set[str]) -> Trace:
    trace = Trace(side=rollout.trace.side)
    for name, array in rollout.trace.items():
        if name not in volatile and not stepping.is_action(name):
            trace.add(name, array)
    for name, array in side.spaces():
        trace.add(f"space/{name}", array)
    return trace


def unsteady_entries(side: Side, actions: Sequence[Any], first: Rollout, seed: int) -> list[str]:
    """Entries that a side answers differently when it is run again from the same seed."""
    again = side.run(side.fresh(), actions, seed).trace
    return [
        key
        for key, array in first.trace.items()
        if key not in again
        or array.shape != again[key].shape
        or not np.array_equal(array, again[key], equal_nan=array.dtype.kind == "f")
    ]


def _add_seeding(traces: Mapping[str, Trace], sides: Mapping[str, Side], seed: int) -> None:
    """What the resets do with their seed, as far as it could be found out on both sides."""
    found = {name: side.seeding(seed) for name, side in sides.items()}
    for name in found["torch"]:
        if name in found["tf"]:
            for side, trace in traces.items():
                trace.add(environment_seeding.PLACE + name, np.asarray(found[side][name]))


def _lone_infos(rollouts: Mapping[str, Rollout], volatile: set[str]) -> dict[str, str]:
    """Names in the info of one side only, without the step -> that side."""
    names = {
        side: {n.split("/info/", 1)[1] for n in r.trace.names if "/info/" in n}
        for side, r in rollouts.items()
    }
    clocks = {n.split("/info/", 1)[1] for n in volatile}
    a, b = (names[side] - clocks for side in SIDES)
    found = {**dict.fromkeys(sorted(a - b), "torch"), **dict.fromkeys(sorted(b - a), "tf")}
    return found


def _drop_lone_infos(traces: dict[str, Trace], lone: Mapping[str, str]) -> None:
    """One problem names an info of one side; a finding for each step would bury the rest."""
    for side, trace in traces.items():
        kept = {
            n: a
            for n, a in trace.items()
            if "/info/" not in n or n.split("/info/", 1)[1] not in lone
        }
        if len(kept) < len(trace.names):
            traces[side] = Trace(kept, side=trace.side, meta=trace.meta)


def _subject(
    sides: Mapping[str, Side],
    actions: Sequence[Any],
    unsteady: Mapping[str, Sequence[str]],
    remade: bool,
) -> dict[str, Any]:
    from parity.debug.environment_settings import differences

    return {
        "check": "environment",
        "torch": sides["torch"].label,
        "tf": sides["tf"].label,
        "steps": len(actions),
        "config": differences(*(sides[s].first for s in SIDES)),
        "unsteady": {s: found[0] for s, n in unsteady.items() if (found := that_matter(n))},
        "not_remade": not remade,
    }


def that_matter(names: Sequence[str]) -> list[str]:
    return [n for n in names if "/info/" not in n]


def _first_place(report: Report) -> Report:
    """Say which step and field the sides part at; what only follows from it is left out."""
    first = report.first_divergence
    if first is None:
        place = report.problems[0].kind if report.problems else None
        return report.with_(subject={**report.subject, "place": place, "faults": []})
    facts = {"place": first.name, "faults": [first.name]}
    # behind the first parting the episodes end at other steps: unmatched names are its consequence
    problems = tuple(p for p in report.problems if p.kind != "unmatched" or p.name == first.name)
    return replace(report, problems=problems, subject={**report.subject, **facts})
