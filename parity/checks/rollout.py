"""Closed loops of an environment and a policy, step by step; and two environments side by side.

The harness knows no environment package: a check is given callables. An environment has
``reset(seed=...) -> (observation, info)`` and ``step(action) -> (observation, reward, terminated,
truncated, info)``; a policy has ``act(observation, noise) -> action``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from parity.backends import to_numpy
from parity.checks import cast, rng_for
from parity.checks.stepping import Stepper, WatchedEnvironment, WatchedPolicy
from parity.compare import compare_arrays
from parity.component import Check, Recording, Side
from parity.errors import InvalidInput
from parity.report import Entry, Problem, Report, build_report
from parity.trace import Trace, join

#: side -> entry name -> what the environment or the policy itself answered there.
Answers = Mapping[str, Mapping[str, np.ndarray]]
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
    make_stepper: Callable[[Side, Any, Any, int], Any] = harness_stepper
    steps: int
    seed: int
    forced: bool = False
    noise: Callable[[np.random.Generator], np.ndarray] | None = None
    random_state: Callable[[Any], np.ndarray] | None = None

    def record(self, sides: Mapping[str, Side]) -> Recording:
        """Step all sides together, so that one can force the others."""
        if self.steps < 1:
            raise InvalidInput(f"steps={self.steps}: a rollout has at least one step")
        draws = self._draws()
        loops: dict[str, _Loop] = {}
        try:
            for name, side in sides.items():
                loops[name] = _Loop.of(self, side)
            for step in range(self.steps):
                self._step(step, loops, None if draws is None else draws[step])
        finally:
            for loop in loops.values():
                _close(loop.environment)
        traces = {name: loop.trace for name, loop in loops.items()}
        answers = {name: loop.answers for name, loop in loops.items()}
        return Recording(traces, find_parted(self, traces, answers, _dtype(sides)))

    def _draws(self) -> np.ndarray | None:
        if self.noise is None:
            return None
        draws = np.asarray(self.noise(rng_for(self)))
        if draws.shape[:1] != (self.steps,):
            raise InvalidInput(f"noise has shape {draws.shape}, expected {self.steps} rows of it")
        return draws

    def _step(self, step: int, loops: Mapping[str, _Loop], draw: np.ndarray | None) -> None:
        seen = np.array(to_numpy(next(iter(loops.values())).stepper.observation))
        forced: np.ndarray | None = None
        for loop in loops.values():
            noise = None if draw is None else cast(draw, loop.side.dtype)
            before = self._before(loop)
            answered = {"observation": loop.environment.answers["observation"]}
            if self.forced:
                if hasattr(loop.policy.policy, "output"):
                    before["output"] = to_numpy(loop.policy.output(seen))
                action = to_numpy(loop.policy.act(seen, noise))
                forced = action if forced is None else forced
                transition = loop.stepper.step(noise, action=forced)
            else:
                transition = loop.stepper.step(noise)
                action = to_numpy(transition.action)
            answered["action"] = action if loop.policy.action is None else loop.policy.action
            answered |= {name: loop.environment.answers[name] for name in STORED}
            after = {"action": action, "applied": loop.environment.applied}
            after |= {name: getattr(transition, name) for name in STORED}
            before["observation"] = transition.observation
            loop.add(step, {**before, **after}, answered)

    def _before(self, loop: _Loop) -> dict[str, Any]:
        """The entries that precede the action; the observation's place is kept for it."""
        entries = {"seed": np.int64(loop.environment.seed), "observation": None}
        if self.random_state is not None:
            entries["random_state"] = self.random_state(loop.environment.environment)
        return entries


@dataclass(frozen=True, kw_only=True)
class EnvironmentCheck(Check):
    """Environments that should be one: the same seeds and actions, compared step by step.

    The sides are those of ``environments`` (``gymnasium``, ``gym``), not the frameworks; entries
    are those of :class:`RolloutCheck` without seeds and the policy's.

    Attributes:
        environments: side name -> a new environment.
        actions: all actions ``[steps, ...]``, drawn from a generator.
        seed: of the first episode; episode k begins with ``seed + k``.
        random_state: reads the state of an environment's random generator as an array.
    """

    kind: ClassVar[str] = "environment"
    environments: Mapping[str, Callable[[], Any]]
    actions: Callable[[np.random.Generator], np.ndarray]
    seed: int
    random_state: Callable[[Any], np.ndarray] | None = None
    dtypes: tuple[str, ...] = field(default=("float64",))

    def record(self, sides: Mapping[str, Side]) -> Recording:
        """Run each environment on its own; ``sides`` only gives the dtype of the comparison."""
        traces = {name: self._trace(name, make) for name, make in self.environments.items()}
        return Recording(traces, find_parted(self, traces, {}, _dtype(sides)))

    def _trace(self, name: str, make: Callable[[], Any]) -> Trace:
        environment, trace = make(), Trace(side=name)
        try:
            stepper = Stepper(environment, None, seed=self.seed)
            for step, action in enumerate(self.actions(rng_for(self))):
                record: dict[str, Any] = {"observation": stepper.observation}
                if self.random_state is not None:
                    record["random_state"] = self.random_state(environment)
                transition = stepper.step(action=action)
                record |= {key: getattr(transition, key) for key in STORED}
                trace.extend(record, scope=f"step/{step}")
        finally:
            _close(environment)
        return trace


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

    @classmethod
    def of(cls, check: RolloutCheck, side: Side) -> _Loop:
        environment = WatchedEnvironment(check.make_environment())
        policy = WatchedPolicy(check.make_policy(side))
        stepper = check.make_stepper(side, environment, policy, check.seed)
        return cls(side, environment, policy, stepper, Trace(side=side.name))

    def add(self, step: int, entries: Mapping[str, Any], answers: Mapping[str, Any]) -> None:
        scope = join("step", str(step))
        self.trace.extend(entries, scope=scope)
        self.answers.update({join(scope, n): np.array(a) for n, a in answers.items()})


def _dtype(sides: Mapping[str, Side]) -> str:
    return next(side.dtype for side in sides.values() if not side.is_reference)


def _close(environment: Any) -> None:
    close = getattr(environment, "close", None)
    if close is not None:
        close()
