"""A2C: what its n-step return and its one loss must do, whatever the numbers are."""

from __future__ import annotations

import numpy as np
import pytest

import parity
from tests.support.rollouts import SIDES, example, make

pytestmark = pytest.mark.parametrize("side", SIDES)


def target_of(learner, batch, **changed):
    fields = {**batch, **changed}
    next_value = learner.bootstrap(fields["next_observation"])
    return learner.target(
        fields["reward"], next_value, fields["terminated"], fields["truncated"]
    ), next_value


@pytest.mark.parametrize("clip", [None, 0.05])
def test_an_update_is_its_links_in_order(side, clip):
    whole, parts = (make("a2c", side, max_gradient_norm=clip) for _ in range(2))
    batch, draws = example("a2c")
    made = whole.update(batch, draws)
    target, _ = target_of(parts, batch)
    advantage = parts.advantage(batch["observation"], target)
    rows = parts.flatten(batch["observation"], batch["action"], advantage, target)
    *losses, gradients = parts.gradients_of(*rows)
    if clip:
        gradients, norm = parts.clip(gradients)
        assert made["gradient_norm"] == pytest.approx(float(norm))
    parts.apply(gradients)
    assert made["loss"] == pytest.approx(float(losses[0]))
    parity.assert_parity(whole=whole.state(), parts={**parts.state(), "step": np.array(1)})


def test_the_return_is_the_discounted_sum_to_the_end_of_the_rollout(side):
    learner = make("a2c", side, gamma=0.9)
    batch, _ = example("a2c", steps=4, environments=1)
    never = np.zeros((4, 1), bool)
    target, next_value = target_of(learner, batch, terminated=never, truncated=never)
    r = batch["reward"][:, 0]
    wanted = r[0] + 0.9 * r[1] + 0.81 * r[2] + 0.729 * r[3] + 0.6561 * next_value[3, 0]
    assert target[0, 0] == pytest.approx(wanted, rel=1e-12)
    assert target[3, 0] == pytest.approx(r[3] + 0.9 * next_value[3, 0], rel=1e-12)


@pytest.mark.parametrize("flag", ["terminated", "truncated"])
def test_an_end_cuts_the_return_and_only_a_time_limit_bootstraps(side, flag):
    learner = make("a2c", side, gamma=0.9)
    batch, _ = example("a2c", steps=4, environments=1)
    never, at_1 = np.zeros((4, 1), bool), np.arange(4)[:, None] == 1
    flags = {"terminated": never, "truncated": never, flag: at_1}
    target, next_value = target_of(learner, batch, **flags)
    r = batch["reward"][:, 0]
    behind = 0.9 * next_value[1, 0] if flag == "truncated" else 0.0
    assert target[1, 0] == pytest.approx(r[1] + behind, rel=1e-12)
    assert target[0, 0] == pytest.approx(r[0] + 0.9 * (r[1] + behind), rel=1e-12)


def test_a_step_that_is_both_ends_is_an_end_of_the_task(side):
    learner = make("a2c", side)
    batch, _ = example("a2c")
    both = np.ones_like(batch["terminated"])
    target, _ = target_of(learner, batch, terminated=both, truncated=both)
    np.testing.assert_array_equal(target, batch["reward"])


def test_without_discount_the_target_is_the_reward(side):
    learner = make("a2c", side, gamma=0.0)
    batch, _ = example("a2c")
    np.testing.assert_array_equal(target_of(learner, batch)[0], batch["reward"])


def test_rows_are_steps_first(side):
    learner = make("a2c", side)
    batch, _ = example("a2c")
    reward = batch["reward"]
    observation, action, advantage, target = learner.flatten(
        batch["observation"], batch["action"], reward, -reward
    )
    assert observation.shape == (12, 3)
    np.testing.assert_array_equal(observation[5], batch["observation"][1, 2])
    assert (action[5], advantage[5]) == (batch["action"][1, 2], reward[1, 2])
    np.testing.assert_array_equal(target, -advantage)


def test_one_step_of_it_is_the_one_step_actor_critic(side):
    batch, draws = example("a2c", steps=1, environments=6)
    fields = {"optimizer": "adam", "value_coefficient": 0.5}
    made, states = {}, {}
    for algorithm in ("a2c", "actor_critic"):
        learner = make(algorithm, side, **fields)
        made[algorithm], states[algorithm] = learner.update(batch, draws), learner.state()
    parity.assert_parity(**made)
    parity.assert_parity(**states)


def test_a_constant_advantage_normalised_is_zero(side):
    learner = make("a2c", side, normalize_advantage=True)
    batch, _ = example("a2c")
    values = batch["reward"] - make("a2c", side).advantage(batch["observation"], batch["reward"])
    np.testing.assert_allclose(
        learner.advantage(batch["observation"], values + 3.0), 0.0, atol=1e-6
    )


def test_the_entropy_pulls_towards_the_uniform_policy(side):
    learner = make("a2c", side, entropy_coefficient=10.0, optimizer="adam", learning_rate=1e-3)
    batch, draws = example("a2c")
    entropies = [float(learner.update(batch, draws)["entropy"]) for _ in range(30)]
    assert entropies[-1] > entropies[0]
    assert entropies[-1] <= np.log(2.0) + 1e-12
