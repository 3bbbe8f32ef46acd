"""Closed loops of an environment and a policy, step by step; and two environments side by side.

The harness knows no environment package: a check is given callables. An environment has
``reset(seed=...) -> (observation, info)`` and ``step(action) -> (observation, reward, terminated,
truncated, info)``; a policy has ``act(observation, noise) -> action``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from parity.backends import to_numpy
from parity.checks import cast, rng_for
from parity.component import Check, Recording, Side
from parity.errors import InvalidInput
from parity.report import Problem, Report, build_report
from parity.trace import Trace

POLICY_FIELDS = ("output", "action")
"""Made by the policy from the observation of the same step; every other field is the
environment's answer to the actions so far."""


class Transition(NamedTuple):
    """One step, as it would be stored for learning.

    ``next_observation`` is what the environment answered, also where the episode ends there.
    """

    observation: Any
    action: Any
    reward: Any
    next_observation: Any
    terminated: Any
    truncated: Any


class Stepper:
    """The harness's own loop: steps an environment and begins the next episode at an end.

    Episode ``k`` begins with ``reset(seed=seed + k)``.
    """

    def __init__(self, environment: Any, policy: Any, *, seed: int) -> None:
        self.environment, self.policy, self.seed = environment, policy, seed
        self.episode = 0
        self.observation: Any = environment.reset(seed=seed)[0]

    def step(self, noise: Any = None, *, action: Any = None) -> Transition:
        """One step with the given action, or with the policy's."""
        if action is None:
            action = to_numpy(self.policy.act(self.observation, noise))
        following, reward, terminated, truncated, _ = self.environment.step(action)
        transition = Transition(
            self.observation, action, reward, following, terminated, truncated
        )
        self.observation = following
        if terminated or truncated:
            self.episode += 1
            self.observation = self.environment.reset(seed=self.seed + self.episode)[0]
        return transition


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

    Entries of step t, in execution order: ``step/t/observation``, ``random_state``, ``output``,
    ``action``, ``reward``, ``terminated``, ``truncated``, ``next_observation``. Where they part, a
    float64 run adds the problem ``parted``: the first step and field, and who it was.

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
        loops = {name: self._loop(side) for name, side in sides.items()}
        try:
            for step in range(self.steps):
                self._step(step, loops, None if draws is None else draws[step])
        finally:
            for loop in loops.values():
                _close(loop.environment)
        traces = {name: loop.trace for name, loop in loops.items()}
        dtype = next(s.dtype for s in sides.values() if not s.is_reference)
        return Recording(traces, find_parted(self, traces, dtype))

    def _draws(self) -> np.ndarray | None:
        if self.noise is None:
            return None
        draws = np.asarray(self.noise(rng_for(self)))
        if draws.shape[:1] != (self.steps,):
            raise InvalidInput(f"noise has shape {draws.shape}, expected {self.steps} rows of it")
        return draws

    def _loop(self, side: Side) -> _Loop:
        environment = self.make_environment()
        policy = self.make_policy(side)
        stepper = self.make_stepper(side, environment, policy, self.seed)
        return _Loop(side, environment, policy, stepper, Trace(side=side.name))

    def _step(self, step: int, loops: Mapping[str, _Loop], draw: np.ndarray | None) -> None:
        leader = next(iter(loops.values()))
        seen = np.array(to_numpy(leader.stepper.observation))
        forced: np.ndarray | None = None
        for loop in loops.values():
            noise = None if draw is None else cast(draw, loop.side.dtype)
            observation = seen if self.forced else loop.stepper.observation
            record: dict[str, Any] = {"observation": None}  # first in order, known after the step
            if self.random_state is not None:
                record["random_state"] = self.random_state(loop.environment)
            if hasattr(loop.policy, "output"):
                record["output"] = to_numpy(loop.policy.output(observation))
            if self.forced:
                action = to_numpy(loop.policy.act(observation, noise))
                forced = action if forced is None else forced
                transition = loop.stepper.step(noise, action=forced)
            else:
                transition = loop.stepper.step(noise)
                action = to_numpy(transition.action)
            record["action"] = action
            for name in ("observation", "reward", "terminated", "truncated", "next_observation"):
                record[name] = getattr(transition, name)
            loop.trace.extend(record, scope=f"step/{step}")


@dataclass(frozen=True, kw_only=True)
class EnvironmentCheck(Check):
    """Environments that should be one: the same seeds and actions, compared step by step.

    The sides are those of ``environments`` (``gymnasium``, ``gym``), not the frameworks; entries
    are those of :class:`RolloutCheck` without the policy's.

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
        dtype = next(s.dtype for s in sides.values() if not s.is_reference)
        return Recording(traces, find_parted(self, traces, dtype))

    def _trace(self, name: str, make: Callable[[], Any]) -> Trace:
        environment, trace = make(), Trace(side=name)
        try:
            stepper = Stepper(environment, None, seed=self.seed)
            for step, action in enumerate(self.actions(rng_for(self))):
                record: dict[str, Any] = {"observation": stepper.observation}
                if self.random_state is not None:
                    record["random_state"] = self.random_state(environment)
                transition = stepper.step(action=action)
                for key in ("reward", "terminated", "truncated", "next_observation"):
                    record[key] = getattr(transition, key)
                trace.extend(record, scope=f"step/{step}")
        finally:
            _close(environment)
        return trace


def find_parted(check: Check, traces: Mapping[str, Trace], dtype: str) -> list[Problem]:
    """The problem ``parted``, where the traces of a float64 run differ.

    Only in float64: a float32 run that is over tolerance may be rounding, which its float64
    evidence decides, and the evidence carries the answer.
    """
    if dtype != "float64":
        return []
    report = build_report(traces, tolerances=check.tolerances.get(dtype, {}), dtype=dtype)
    details = parted(report)
    return [] if details is None else [Problem("parted", details["entry"], details)]


def parted(report: Report) -> dict[str, Any] | None:
    """Where a rollout's sides part: ``entry``, ``step``, ``field``, ``who``; None if they do not.

    ``who`` is ``policy`` where an output or action differs though everything before it agrees, the
    observation it was given included; ``environment`` where its answer or its random generator
    differs though every action before agrees. ``inputs_apart`` is the largest difference, within
    tolerance, among the same two sides' inputs: a number far above rounding speaks for an
    amplified difference rather than a new one.
    """
    first = report.first_divergence
    if first is None or not first.name.startswith("step/"):
        return None
    _, step, name = first.name.split("/", 2)
    by_policy = name.split("/")[0] in POLICY_FIELDS
    pair = next(d for d in first.differences if not d.agrees).sides
    before = report.entries[: report.entries.index(first)]
    given = [e for e in before if _is_input(e.name, by_policy, int(step))]
    differences = [d.max_abs for e in given if (d := e.pair(*pair)) is not None]
    return {
        "entry": first.name,
        "step": int(step),
        "field": name,
        "who": "policy" if by_policy else "environment",
        "inputs_apart": max(differences, default=0.0),
    }


def _is_input(name: str, by_policy: bool, step: int) -> bool:
    """Whether an entry is what the policy (its observation) or the environment (actions) was given."""
    _, at, entry = name.split("/", 2)
    return (int(at) == step and entry == "observation") if by_policy else entry == "action"


@dataclass
class _Loop:
    """What one side consists of during the recording."""

    side: Side
    environment: Any
    policy: Any
    stepper: Any
    trace: Trace


def _close(environment: Any) -> None:
    close = getattr(environment, "close", None)
    if close is not None:
        close()
