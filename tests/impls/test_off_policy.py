"""The learners from replay act alike on every side, and with the networks that they train.

Acting is no link of an update, so that no check of the parity suite sees it. The bugs planted here
are of acting alone: they show that these tests can fail.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import parity
from impls.dqn.config import DQNConfig
from impls.dqn.config import initial_state as dqn_state
from impls.learner.cases import apart
from impls.sac.config import SACConfig
from impls.sac.config import initial_state as sac_state
from parity.backends import get_backend, to_numpy
from parity.component import Mutant
from parity.errors import ParityMismatch
from parity.runner import load_siblings, planted

SIZES = {"observation_size": 3, "hidden_sizes": (11, 7)}
CONFIGS = {
    "dqn": (DQNConfig(action_size=4, **SIZES), dqn_state),
    "sac": (SACConfig(action_size=2, max_action=(0.5, 2.0), **SIZES), sac_state),
}
ROWS = 40

each_algorithm = pytest.mark.parametrize("algorithm", list(CONFIGS))


def draws_of(algorithm: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    if algorithm == "sac":
        return {"noise": rng.normal(size=(ROWS, 2))}
    return {
        "uniform": rng.random(ROWS),
        "random_action": rng.integers(4, size=ROWS),
        "epsilon": np.array(0.3),
    }


def material(
    algorithm: str, side: str, sibling: ModuleType, dtype: str = "float64"
) -> tuple[Any, Any, dict[str, Any]]:
    """A learner whose target network is not the online one, an observation, and draws."""
    config, initial_state = CONFIGS[algorithm]
    learner = sibling.make_learner(config, dtype=dtype)
    learner.load_state(apart(initial_state, config)(np.random.default_rng(1)))
    backend = get_backend(side)
    observation = np.random.default_rng(0).normal(size=(ROWS, 3))
    given = {n: backend.tensor(v, dtype=dtype) for n, v in draws_of(algorithm).items()}
    return learner, backend.tensor(observation, dtype=dtype), given


def acted(algorithm: str, siblings: dict[str, ModuleType]) -> dict[str, dict[str, np.ndarray]]:
    """What every side does, exploring and greedy."""
    found = {}
    for side, sibling in siblings.items():
        learner, observation, draws = material(algorithm, side, sibling)
        made = {**learner.act(observation, draws), "greedy": learner.greedy(observation)}
        found[side] = {name: to_numpy(value) for name, value in made.items()}
    return found


@each_algorithm
def test_all_sides_act_alike(algorithm: str) -> None:
    found = acted(algorithm, load_siblings(f"impls.{algorithm}"))
    parity.assert_parity(**found)
    for made in found.values():
        assert (made["action"] != made["greedy"]).any(), "the draws explore"


PLANTED = (
    (
        "dqn",
        Mutant(
            id="epsilon-is-the-greedy-share",
            find='epsilon=draws["epsilon"]',
            replace='epsilon=1.0 - draws["epsilon"]',
            caught_by="act",
            because="comparison the wrong way round",
        ),
    ),
    (
        "dqn",
        Mutant(
            id="explores-by-the-target-network",
            find='q = self.networks["q"](observation)\n            action =',
            replace='q = self.targets["q"](observation)\n            action =',
            caught_by="act",
            because="acts by a network that lags behind: equal right after a copy",
            sibling="torch",
        ),
    ),
    (
        "dqn",
        Mutant(
            id="evaluated-by-the-target-network",
            find='tf.argmax(self.networks["q"](observation), axis=1)',
            replace='tf.argmax(self.targets["q"](observation), axis=1)',
            caught_by="greedy",
            because="the same, where the policy is judged",
        ),
    ),
    (
        "sac",
        Mutant(
            id="explores-less",
            find='self.sample(observation, draws["noise"])[0]',
            replace='self.sample(observation, 0.5 * draws["noise"])[0]',
            caught_by="act",
            because="a scale of the noise left over from another algorithm",
            sibling="torch",
        ),
    ),
    (
        "sac",
        Mutant(
            id="greedy-not-squashed",
            find="return policies.tanh_gaussian_mode(mean, **self.config.limits)",
            replace="return mean",
            caught_by="greedy",
            because="the mean before tanh and scale is taken for the action",
        ),
    ),
)


@pytest.mark.parametrize(("algorithm", "mutant"), PLANTED, ids=[m.id for _, m in PLANTED])
def test_a_bug_of_acting_is_seen(algorithm: str, mutant: Mutant) -> None:
    entry = "action" if mutant.caught_by == "act" else "greedy"
    with planted(f"impls.{algorithm}", mutant) as siblings:
        found = acted(algorithm, siblings)
    with pytest.raises(ParityMismatch, match=entry):
        parity.assert_parity(**found)


@each_algorithm
def test_acting_can_be_traced(algorithm: str) -> None:
    tf = pytest.importorskip("tensorflow")
    sibling = load_siblings(f"impls.{algorithm}", ("tf",))["tf"]
    learner, observation, draws = material(algorithm, "tf", sibling)
    act, greedy = tf.function(learner.act), tf.function(learner.greedy)
    for scale in (1.0, 0.5, 0.0):
        changed = {n: v * scale if v.dtype.is_floating else v for n, v in draws.items()}
        eager = learner.act(observation, changed)["action"]
        traced = act(observation, changed)["action"]
        np.testing.assert_allclose(traced, eager, atol=1e-12, rtol=0)
    np.testing.assert_allclose(greedy(observation), learner.greedy(observation), atol=1e-12, rtol=0)
    assert act.experimental_get_tracing_count() == 1


@each_algorithm
@pytest.mark.parametrize("side", ["torch", "tf"])
def test_acting_keeps_the_learner_s_dtype_and_state(algorithm: str, side: str) -> None:
    sibling = load_siblings(f"impls.{algorithm}", (side,))[side]
    learner, observation, draws = material(algorithm, side, sibling, "float32")
    before = learner.state()
    action, greedy = learner.act(observation, draws)["action"], learner.greedy(observation)
    wanted = np.int64 if algorithm == "dqn" else np.float32
    assert to_numpy(action).dtype == to_numpy(greedy).dtype == wanted
    after = learner.state()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)
