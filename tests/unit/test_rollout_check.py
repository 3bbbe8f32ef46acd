"""The rollout check says at which step and field two loops part, and who it was."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from parity.backends import get_backend
from parity.checks.rollout import EnvironmentCheck, RolloutCheck, parted
from parity.checks.stepping import NO_SEED, Stepper, WatchedEnvironment
from parity.component import Component, Recording, Side
from parity.errors import InvalidInput
from parity.report import Problem, Report, build_report
from parity.runner import run_check
from parity.tolerance import Tolerance
from parity.trace import Trace
from parity.verdict import Verdict

STEPS, LENGTH = 11, 4
IMPL = ModuleType("impl")


class Walk:
    """A random walk that is pushed by the action; episodes of ``LENGTH`` steps are truncated."""

    def __init__(self, *, wrong: str = "", at: int = -1, draws: int = 1) -> None:
        self.wrong, self.at, self.draws = wrong, at, draws
        self.step_count, self.closed = -1, False
        self.seeds: list[int | None] = []

    def reset(self, *, seed: int | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        self.seeds.append(seed)
        self.rng = np.random.default_rng(seed)
        self.state, self.age = self.rng.uniform(0.1, 1, 3), 0
        return self.state.copy(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.step_count += 1
        self.age += 1
        drawn = [self.rng.uniform(0.1, 1, 3) for _ in range(self.draws)]
        self.state = 0.5 * self.state + drawn[0] + float(np.sum(action))
        now = self.step_count == self.at
        reward = 1.0 + self.state[0] + (0.01 if now and self.wrong == "reward" else 0.0)
        terminated = now and self.wrong == "terminated"
        if now and self.wrong == "observation":
            self.state = self.state + 0.01
        return self.state.copy(), reward, terminated, self.age == LENGTH, {}

    def close(self) -> None:
        self.closed = True


def random_state(environment: Walk) -> np.ndarray:
    value = environment.rng.bit_generator.state["state"]["state"]
    return np.array([value & (2**64 - 1), value >> 64], np.uint64)


class Linear:
    """``action = weight * sum(observation) + noise``; wrong from its call ``at`` on."""

    def __init__(self, dtype: str, *, at: int = 10**6) -> None:
        self.dtype, self.at, self.calls = dtype, at, 0
        self.seen: list[np.ndarray] = []

    def output(self, observation: Any) -> np.ndarray:
        return np.asarray([0.1 * np.sum(observation)]).astype(self.dtype)

    def act(self, observation: Any, noise: Any = None) -> np.ndarray:
        self.seen.append(np.array(observation))
        wrong = 0.01 if self.calls >= self.at else 0.0
        self.calls += 1
        return self.output(observation) + np.asarray(wrong + (0 if noise is None else noise))


def sides(dtype: str = "float64") -> dict[str, Side]:
    backend = get_backend("reference")
    names = {"torch": dtype, "tf": dtype, "reference": "float64"}
    return {name: Side(name, IMPL, backend, d) for name, d in names.items()}


def rollout(**changes: Any) -> RolloutCheck:
    given: dict[str, Any] = {
        "name": "loop",
        "case": "walk",
        "make_environment": Walk,
        "make_policy": lambda side: Linear(side.dtype),
        "steps": STEPS,
        "seed": 7,
        "random_state": random_state,
    }
    return RolloutCheck(**{**given, **changes})


def report_of(recording: Recording, dtype: str = "float64") -> Report:
    return build_report(recording.traces, problems=recording.problems, dtype=dtype)


def only_problem(recording: Recording) -> Problem:
    (problem,) = recording.problems
    assert problem.kind == "parted"
    return problem


def in_turn(*made: Any) -> Callable[[], Any]:
    """Hands out one object per side, in the order in which the check asks."""
    rest = list(made)
    return lambda: rest.pop(0)


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equal_loops_agree(forced: bool, dtype: str) -> None:
    noise = lambda rng: rng.normal(size=(STEPS, 1))  # noqa: E731
    report = report_of(rollout(forced=forced, noise=noise).record(sides(dtype)), dtype)
    assert report.verdict is Verdict.AGREE
    assert not report.problems
    fields = [e.name.split("/")[2] for e in report.entries if e.name.startswith("step/0/")]
    policy = ["output", "action"] if forced else ["action"]
    assert fields == [
        *("seed", "observation", "random_state", *policy, "applied"),
        *("reward", "terminated", "truncated", "next_observation"),
    ]
    assert len(report.entries) == STEPS * len(fields)


@pytest.mark.parametrize("forced", [True, False])
def test_a_policy_that_parts_is_named_with_its_step(forced: bool) -> None:
    def make(side: Side) -> Linear:
        return Linear(side.dtype, at=5 if side.name == "tf" else 10**6)

    problem = only_problem(rollout(forced=forced, make_policy=make).record(sides()))
    assert problem.name == "step/5/action"
    assert {k: problem.details[k] for k in ("step", "field", "who")} == {
        "step": 5,
        "field": "action",
        "who": "policy",
    }
    assert problem.details["inputs_apart"] == 0.0


def test_wrong_output_is_seen_where_the_action_hides_it() -> None:
    class Greedy(Linear):
        """Discrete: the index of the larger score."""

        def output(self, observation: Any) -> np.ndarray:
            return np.array([1.0, 2.0 + self.at])

        def act(self, observation: Any, noise: Any = None) -> np.ndarray:
            return np.argmax(self.output(observation))

    check = rollout(forced=True, make_policy=lambda s: Greedy(s.dtype, at=int(s.name == "tf")))
    problem = only_problem(check.record(sides()))
    assert (problem.name, problem.details["who"]) == ("step/0/output", "policy")


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize(
    ("wrong", "entry"),
    [
        ("reward", "step/6/reward"),
        ("terminated", "step/6/terminated"),
        ("observation", "step/6/next_observation"),
    ],
)
def test_an_environment_that_parts_is_named(wrong: str, entry: str, forced: bool) -> None:
    make = in_turn(Walk(), Walk(wrong=wrong, at=6), Walk())
    problem = only_problem(rollout(forced=forced, make_environment=make).record(sides()))
    assert (problem.name, problem.details["who"]) == (entry, "environment")


def test_a_generator_that_parts_before_anything_visible() -> None:
    make = in_turn(Walk(), Walk(draws=2), Walk())
    problem = only_problem(rollout(make_environment=make).record(sides()))
    assert problem.name == "step/1/random_state"
    assert problem.details["who"] == "environment"


class Unseeded(Stepper):
    def step(self, noise: Any = None, *, action: Any = None) -> Any:
        transition = super().step(noise, action=action)
        if transition.truncated:
            self.observation = self.environment.reset()[0]
        return transition


class Doubling(Stepper):
    def step(self, noise: Any = None, *, action: Any = None) -> Any:
        transition = super().step(noise, action=action)
        return transition._replace(reward=2 * transition.reward)


class Rounding(Stepper):
    def step(self, noise: Any = None, *, action: Any = None) -> Any:
        action = self.policy.act(self.observation, noise) if action is None else action
        return super().step(action=action.astype(np.float32))


class Halving(Stepper):
    """Applies half of the action that it stores."""

    def step(self, noise: Any = None, *, action: Any = None) -> Any:
        action = self.policy.act(self.observation, noise) if action is None else action
        return super().step(action=action / 2)._replace(action=action)


@pytest.mark.parametrize(
    ("wrong", "entry"),
    [
        (Unseeded, f"step/{LENGTH}/seed"),
        (Doubling, "step/0/reward"),
        (Rounding, "step/0/action"),
        (Halving, "step/0/applied"),
    ],
)
def test_the_loop_is_told_from_what_it_steps(wrong: type[Stepper], entry: str) -> None:
    def make(side: Side, environment: Any, policy: Any, seed: int) -> Stepper:
        return (wrong if side.name == "tf" else Stepper)(environment, policy, seed=seed)

    problem = only_problem(rollout(make_stepper=make).record(sides()))
    assert (problem.name, problem.details["who"]) == (entry, "loop")


def test_forced_policies_see_the_first_sides_observations() -> None:
    policies = {name: Linear("float64", at=2 if name == "torch" else 10**6) for name in sides()}
    check = rollout(forced=True, make_policy=lambda side: policies[side.name])
    traces = check.record(sides()).traces
    for policy in policies.values():
        np.testing.assert_array_equal(policy.seen, policies["torch"].seen)
    applied = [traces["tf"][f"step/{t}/applied"] for t in range(STEPS)]
    actions = [traces["torch"][f"step/{t}/action"] for t in range(STEPS)]
    np.testing.assert_array_equal(applied, actions)


def test_small_differences_of_the_inputs_are_told() -> None:
    """The environment amplifies an action that is 1e-13 apart: that is said beside its name."""

    class Steep(Walk):
        def step(self, action: Any) -> Any:
            observation, _, *rest = super().step(action)
            return (observation, 2.0 + float(np.sin(1e4 * np.sum(action))), *rest)

    class Off(Linear):
        def act(self, observation: Any, noise: Any = None) -> np.ndarray:
            return super().act(observation, noise) + 1e-13

    def make(side: Side) -> Linear:
        return (Off if side.name == "tf" else Linear)(side.dtype)

    check = rollout(make_environment=Steep, make_policy=make)
    details = only_problem(check.record(sides())).details
    assert (details["field"], details["who"]) == ("reward", "environment")
    assert 0.5e-13 < details["inputs_apart"] < 2e-13


def test_float32_leaves_the_answer_to_its_float64_evidence() -> None:
    def make(side: Side) -> Linear:
        return Linear(side.dtype, at=3 if side.name == "tf" else 10**6)

    check = rollout(make_policy=make)
    assert check.record(sides("float32")).problems == []
    component = Component("loops", contract=(), checks=(check,))
    report = run_check(component, check, dict.fromkeys(sides(), IMPL), dtype="float32")
    assert report.verdict is Verdict.DIVERGE
    assert report.evidence is not None
    assert [p.details["step"] for p in report.evidence.problems] == [3]


def test_tolerances_of_the_check_decide_what_parted_means() -> None:
    wide = {"float64": {"*": Tolerance(10.0, "this test is about the bound")}}
    make = in_turn(Walk(), Walk(wrong="reward", at=6), Walk())
    assert rollout(make_environment=make, tolerances=wide).record(sides()).problems == []


def test_noise_has_one_row_per_step() -> None:
    with pytest.raises(InvalidInput, match=r"noise has shape \(3, 1\), expected 11 rows"):
        rollout(noise=lambda rng: rng.normal(size=(3, 1))).record(sides())


def test_a_rollout_has_a_step() -> None:
    with pytest.raises(InvalidInput, match="steps=0"):
        rollout(steps=0).record(sides())


def test_environments_are_closed_when_a_side_fails() -> None:
    made = [Walk(), Walk(), Walk()]

    def make(side: Side) -> Linear:
        if side.name == "reference":
            raise RuntimeError("no policy")
        return Linear(side.dtype)

    with pytest.raises(RuntimeError, match="no policy"):
        rollout(make_environment=in_turn(*made), make_policy=make).record(sides())
    assert all(environment.closed for environment in made)


def test_harness_stepper_seeds_each_episode() -> None:
    environment = Walk()
    stepper = Stepper(environment, Linear("float64"), seed=7)
    transitions = [stepper.step() for _ in range(2 * LENGTH + 1)]
    assert environment.seeds == [7, 8, 9]
    assert [t.truncated for t in transitions[:LENGTH]] == [False] * (LENGTH - 1) + [True]
    first = Walk().reset(seed=8)[0]
    np.testing.assert_array_equal(transitions[LENGTH].observation, first)
    assert not np.array_equal(transitions[LENGTH - 1].next_observation, first)


def test_watching_passes_everything_on() -> None:
    environment = Walk()
    watched = WatchedEnvironment(environment)
    assert watched.seed == NO_SEED
    assert watched.random_state() is None
    watched.reset()
    assert watched.seed == NO_SEED
    watched.reset(seed=5)
    assert (watched.seed, environment.seeds) == (5, [None, 5])
    assert watched.draws == 1


def environments(right: Callable[[], Any]) -> EnvironmentCheck:
    return EnvironmentCheck(
        name="walk",
        case="both",
        environments={"new": Walk, "old": right},
        actions=lambda rng: rng.normal(size=(STEPS, 2)),
        seed=7,
        random_state=random_state,
    )


def test_equal_environments_agree() -> None:
    recording = environments(Walk).record(sides())
    assert list(recording.traces) == ["new", "old"]
    report = report_of(recording)
    assert report.verdict is Verdict.AGREE
    assert report.values_compared > STEPS * 8


@pytest.mark.parametrize("wrong", ["reward", "terminated"])
def test_environments_that_part_are_named(wrong: str) -> None:
    recording = environments(lambda: Walk(wrong=wrong, at=6)).record(sides())
    problem = only_problem(recording)
    assert (problem.name, problem.details["who"]) == (f"step/6/{wrong}", "environment")
    assert report_of(recording).verdict is Verdict.DIVERGE


def test_loops_are_covered_by_an_environment_check() -> None:
    def make(side: Side, environment: Any, policy: Any, seed: int) -> Stepper:
        return (Doubling if side.name == "tf" else Stepper)(environment, policy, seed=seed)

    check = environments(Walk)
    check = EnvironmentCheck(**{**vars(check), "make_stepper": make})
    assert only_problem(check.record(sides())).details["who"] == "loop"


def test_nothing_parted_where_nothing_differs_or_nothing_is_stepped() -> None:
    def report(name: str, right: float) -> Report:
        return build_report({"torch": Trace({name: 1.0}), "tf": Trace({name: right})})

    assert parted(report("step/0/reward", 1.0)) is None
    assert parted(report("loss", 2.0)) is None
    assert parted(report("step/0/reward", 2.0)) is not None
