"""Closed loops of an environment and a policy, step by step; and two environments side by side.

The harness knows no environment package: a check is given callables. An environment has
``reset(seed=...) -> (observation, info)`` and ``step(action) -> (observation, reward, terminated,
truncated, info)``; a policy has ``act(observation, noise) -> action``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from parity.backends import to_numpy
from parity.checks import cast, rng_for
from parity.checks.stepping import Stepper, WatchedEnvironment, WatchedPolicy
from parity.compare import compare_arrays
from parity.component import Check, Recording, Side
from parity.errors import InvalidInput
from parity.report import Entry, Problem, Report, build_report
from parity.trace import Trace, join

if TYPE_CHECKING:
    from parity.recording.sides import StoredSide

#: side -> entry name -> what the environment or the policy itself answered there.
Answers = Mapping[str, Mapping[str, np.ndarray]]
MakeStepper = Callable[[Side, Any, Any, int], Any]
STORED = ("reward", "terminated", "truncated", "next_observation")


def harness_stepper(side: Side, environment: Any, policy: Any, seed: int) -> Stepper:
    """Steps with the harness's own loop, for pairs that consist of a policy only."""
    return Stepper(environment, policy, seed=seed)


@dataclass(frozen=True, kw_only=True)
class RolloutCheck(Check):
    """The same seeded environment, stepped by the policy of every side.

    Teacher-forced (``forced``): the policy of each side sees the first side's observation, and
    each side's environment is stepped with the first side's action, so that errors do not pile up
    and environments that were seeded alike must agree bit for bit. Free-running: each side lives
    with its own answers.

    Entries of step t, in execution order: ``step/t/seed`` (of the last reset), ``observation``
    (what the policy sees), ``random_state``, ``output`` (if forced), ``action``, ``applied`` (what
    reached the environment), ``reward``, ``terminated``, ``truncated``, ``next_observation``.
    Where they part, a float64 run adds the problem ``parted``, see :func:`parted`.

    Attributes:
        make_environment: a new environment; called once for each side.
        make_policy: the policy of a side; every side's must hold the same weights. Its
            ``output(observation)``, where it has one, is recorded: the numbers behind the action
            (scores of discrete actions, the mean before exploration noise).
        make_stepper: the loop of a side, ``(side, environment, policy, seed)``; it has
            ``observation`` and ``step(noise, action=None)``, as :class:`Stepper`.
        steps: how many steps, across episode ends.
        seed: of the environment's first episode.
        noise: exploration draws ``[steps, ...]`` from a generator, the same for every side.
        random_state: reads the state of an environment's random generator as an array.
    """

    kind: ClassVar[str] = "rollout"
    make_environment: Callable[[], Any]
    make_policy: Callable[[Side], Any]
    make_stepper: MakeStepper = harness_stepper
    steps: int
    seed: int
    forced: bool = False
    noise: Callable[[np.random.Generator], np.ndarray] | None = None
    random_state: Callable[[Any], np.ndarray] | None = None

    def record(self, sides: Mapping[str, Side]) -> Recording:
        """Step all sides together, so that one can force the others."""
        loops = self._loops(sides, None)
        return self._parted(
            {name: loop.trace for name, loop in loops.items()},
            {name: loop.answers for name, loop in loops.items()},
            _dtype(sides),
        )

    def record_against(self, sides: Mapping[str, Side], stored: StoredSide) -> Recording:
        """As :meth:`record`; the stored side comes first, and forces the others in its place."""
        loops = self._loops(sides, stored.traces[stored.side])
        return self._parted(
            {**stored.traces, **{name: loop.trace for name, loop in loops.items()}},
            {**stored.answers, **{name: loop.answers for name, loop in loops.items()}},
            _dtype(sides),
        )

    def _parted(
        self, traces: dict[str, Trace], answers: dict[str, dict[str, Any]], dtype: str
    ) -> Recording:
        return Recording(traces, find_parted(self, traces, answers, dtype), answers=answers)

    def _loops(self, sides: Mapping[str, Side], lead: Trace | None) -> dict[str, _Loop]:
        """Every side's loop, all steps done; ``lead`` was recorded before and goes first."""
        if self.steps < 1:
            raise InvalidInput(f"steps={self.steps}: a rollout has at least one step")
        draws = self._draws()
        loops: dict[str, _Loop] = {}
        opened: list[WatchedEnvironment] = []
        try:
            for name, side in sides.items():
                environment = WatchedEnvironment(self.make_environment(), self.random_state)
                opened.append(environment)
                loops[name] = _Loop.of(self, side, environment, self.make_policy(side), name)
            for step in range(self.steps):
                self._step(step, loops, None if draws is None else draws[step], lead)
        finally:
            for environment in opened:
                environment.close()
        return loops

    def _draws(self) -> np.ndarray | None:
        if self.noise is None:
            return None
        draws = np.asarray(self.noise(rng_for(self)))
        if draws.shape[:1] != (self.steps,):
            raise InvalidInput(f"noise has shape {draws.shape}, expected {self.steps} rows of it")
        return draws

    def _step(
        self,
        step: int,
        loops: Mapping[str, _Loop],
        draw: np.ndarray | None,
        lead: Trace | None = None,
    ) -> None:
        forced: np.ndarray | None = None
        if lead is None:
            seen = np.array(to_numpy(next(iter(loops.values())).stepper.observation))
        else:
            seen = lead[join("step", str(step), "observation")]
            forced = lead[join("step", str(step), "action")]
        for loop in loops.values():
            noise = None if draw is None else cast(draw, loop.side.dtype)
            loop.begin(step)
            if self.forced:
                if hasattr(loop.policy.policy, "output"):
                    loop.entries["output"] = to_numpy(loop.policy.output(seen))
                action = to_numpy(loop.policy.act(seen, noise))
                forced = action if forced is None else forced
                transition = loop.stepper.step(noise, action=forced)
            else:
                transition = loop.stepper.step(noise)
                action = to_numpy(transition.action)
            loop.entries["action"] = action
            loop.finish(step, transition)


@dataclass(frozen=True, kw_only=True)
class EnvironmentCheck(Check):
    """Environments that should be one: the same seeds and actions, compared step by step.

    The sides of the report are those of ``environments`` (``gymnasium``, ``gym``). Each is stepped
    by the loop of another framework, so that agreement covers the loops as well. The entries are
    those of :class:`RolloutCheck`, without a policy's.

    Attributes:
        environments: side name -> a new environment.
        make_stepper: the loop of a side, as in :class:`RolloutCheck`; its policy is never asked.
        actions: all actions ``[steps, ...]``, drawn from a generator.
        seed: of the first episode; episode k begins with ``seed + k``.
        random_state: reads the state of an environment's random generator as an array.
    """

    kind: ClassVar[str] = "environment"
    environments: Mapping[str, Callable[[], Any]]
    make_stepper: MakeStepper = harness_stepper
    actions: Callable[[np.random.Generator], np.ndarray]
    seed: int
    random_state: Callable[[Any], np.ndarray] | None = None
    dtypes: tuple[str, ...] = field(default=("float64",))

    def record(self, sides: Mapping[str, Side]) -> Recording:
        """Run each environment on its own."""
        return self._run(dict(zip(self.environments, cycle(sides.values()), strict=False)))

    def record_against(self, sides: Mapping[str, Side], stored: StoredSide) -> Recording:
        """As :meth:`record`: the stored side has run the first environment, the others run on."""
        mine = cycle([stored.side, *sides])
        turns = dict(zip(self.environments, mine, strict=False))
        here = self._run({n: sides[side] for n, side in turns.items() if side in sides})
        traces = {n: here.traces.get(n) or stored.traces[n] for n in self.environments}
        answers = {n: here.answers.get(n) or stored.answers[n] for n in self.environments}
        problems = find_parted(self, traces, answers, _dtype(sides))
        return Recording(traces, problems, answers=answers)

    def _run(self, steppers: Mapping[str, Side]) -> Recording:
        """Step the environments of these names, each by the loop of its side."""
        traces: dict[str, Trace] = {}
        answers: dict[str, dict[str, np.ndarray]] = {}
        for name, side in steppers.items():
            make = self.environments[name]
            environment = WatchedEnvironment(make(), self.random_state)
            try:
                loop = _Loop.of(self, side, environment, None, name)
                for step, action in enumerate(self.actions(rng_for(self))):
                    loop.begin(step)
                    loop.finish(step, loop.stepper.step(action=action))
            finally:
                environment.close()
            traces[name], answers[name] = loop.trace, loop.answers
        dtype = _dtype({side.name: side for side in steppers.values()})
        found = find_parted(self, traces, answers, dtype) if len(traces) > 1 else []
        return Recording(traces, found, answers=answers)


def find_parted(
    check: Check, traces: Mapping[str, Trace], answers: Answers, dtype: str
) -> list[Problem]:
    """The problem ``parted``, where the traces of a float64 run differ.

    Only in float64: a float32 run that is over tolerance may be rounding, which its float64
    evidence decides, and the evidence carries the answer.
    """
    if dtype != "float64":
        return []
    report = build_report(traces, tolerances=check.tolerances.get(dtype, {}), dtype=dtype)
    details = parted(report, answers)
    return [] if details is None else [Problem("parted", details["entry"], details)]


def parted(report: Report, answers: Answers | None = None) -> dict[str, Any] | None:
    """Where a rollout's sides part: ``entry``, ``step``, ``field``, ``who``; None if they do not.

    ``who`` had equal inputs and gave another answer, everything before it being equal:
    ``policy`` (an output or action), ``environment`` (an observation, reward, end, or its random
    generator), or ``loop``: the environment and the policy themselves answered alike, and the code
    that steps them seeded, applied or stored something else.
    ``inputs_apart`` is the largest difference, within tolerance, between the same two sides' inputs
    (the observation for a policy, the actions for the others): where it is not of rounding size,
    the difference came from further up.
    """
    first = report.first_divergence
    if first is None or not first.name.startswith("step/"):
        return None
    _, step, name = first.name.split("/", 2)
    pair = next(d for d in first.differences if not d.agrees).sides
    who = _who(first, name, pair, answers or {})
    before = report.entries[: report.entries.index(first)]
    inputs = f"step/{step}/observation" if who == "policy" else None
    given = [e for e in before if e.name == inputs or (not inputs and e.name.endswith("/applied"))]
    apart = [d.max_abs for e in given if (d := e.pair(*pair)) is not None]
    return {
        "entry": first.name,
        "step": int(step),
        "field": name,
        "who": who,
        "inputs_apart": max(apart, default=0.0),
    }


def _who(first: Entry, name: str, pair: tuple[str, str], answers: Answers) -> str:
    if name in ("seed", "applied"):
        return "loop"
    left, right = (answers.get(side, {}).get(first.name) for side in pair)
    if left is not None and right is not None:
        own = compare_arrays(left, right, tolerance=first.tolerance, check_dtype=False)
        if own.agrees:
            return "loop"
    return "policy" if name in ("output", "action") else "environment"


@dataclass
class _Loop:
    """What one side consists of during the recording."""

    side: Side
    environment: WatchedEnvironment
    policy: WatchedPolicy
    stepper: Any
    trace: Trace
    answers: dict[str, np.ndarray] = field(default_factory=dict)
    entries: dict[str, Any] = field(default_factory=dict)
    """Of the step at hand, in execution order."""

    @classmethod
    def of(
        cls,
        check: RolloutCheck | EnvironmentCheck,
        side: Side,
        environment: WatchedEnvironment,
        policy: Any,
        name: str,
    ) -> _Loop:
        watched = WatchedPolicy(policy)
        stepper = check.make_stepper(side, environment, watched, check.seed)
        return cls(side, environment, watched, stepper, Trace(side=name))

    def begin(self, step: int) -> None:
        """Note what precedes the action; the observation's place is kept for the stored one."""
        self.entries = {"seed": np.int64(self.environment.seed), "observation": None}
        if (state := self.environment.random_state()) is not None:
            self.entries["random_state"] = state
        self.policy.action = None
        self._answered(step, {"observation": self.environment.answers["observation"]})

    def finish(self, step: int, transition: Any) -> None:
        """Note what was applied and stored, and what the policy and environment had answered."""
        self.entries["observation"] = transition.observation
        self.entries["applied"] = self.environment.applied
        self.entries |= {name: getattr(transition, name) for name in STORED}
        self.trace.extend(self.entries, scope=join("step", str(step)))
        self._answered(step, {name: self.environment.answers[name] for name in STORED})
        if self.policy.action is not None:
            self._answered(step, {"action": self.policy.action})

    def _answered(self, step: int, answers: Mapping[str, np.ndarray]) -> None:
        self.answers.update({join("step", str(step), n): np.array(a) for n, a in answers.items()})


def _dtype(sides: Mapping[str, Side]) -> str:
    return next((s.dtype for s in sides.values() if not s.is_reference), "float64")
