"""The one-step actor-critic: what its error must do, whatever the numbers are."""

from __future__ import annotations

import numpy as np
import pytest

import parity
from tests.support.rollouts import SIDES, example, make

pytestmark = pytest.mark.parametrize("side", SIDES)

ONE = {"steps": 1, "environments": 14}


def error_of(learner, batch):
    value, next_value = learner.value_estimates(batch["observation"], batch["next_observation"])
    target = learner.target(batch["reward"], next_value, batch["terminated"], batch["truncated"])
    return value, next_value, target, learner.advantage(value, target)


@pytest.mark.parametrize("clip", [None, 0.05])
def test_an_update_is_its_links_in_order(side, clip):
    whole, parts = (make("actor_critic", side, max_gradient_norm=clip) for _ in range(2))
    batch, draws = example("actor_critic", **ONE)
    made = whole.update(batch, draws)
    _, _, target, advantage = error_of(parts, batch)
    rows = parts.flatten(batch["observation"], batch["action"], advantage, target)
    *losses, gradients = parts.gradients_of(*rows)
    parts.apply(parts.clip(gradients)[0] if clip else gradients)
    assert made["loss"] == pytest.approx(float(losses[0]))
    parity.assert_parity(whole=whole.state(), parts={**parts.state(), "step": np.array(1)})


def test_an_end_of_the_task_leaves_the_reward_and_a_time_limit_does_not(side):
    learner = make("actor_critic", side, gamma=0.9)
    batch, _ = example("actor_critic", **ONE)
    value, next_value, target, advantage = error_of(learner, batch)
    ended = batch["terminated"]
    assert ended.any()
    assert (batch["truncated"] & ~ended).any()
    np.testing.assert_array_equal(target[ended], batch["reward"][ended])
    np.testing.assert_allclose(
        target[~ended], (batch["reward"] + 0.9 * next_value)[~ended], rtol=1e-14
    )
    np.testing.assert_allclose(advantage, target - value, rtol=1e-14)


def test_each_step_counts_on_its_own(side):
    """Four steps of three environments are one step of twelve."""
    batch, draws = example("actor_critic")
    flat = {n: a.reshape(1, 12, *a.shape[2:]) for n, a in batch.items()}
    together, apart = (make("actor_critic", side) for _ in range(2))
    made = together.update(batch, draws)
    other = apart.update(flat, draws)
    np.testing.assert_allclose(made["target"].reshape(1, 12), other["target"], rtol=1e-12)
    parity.assert_parity(together=together.state(), apart=apart.state())


def test_the_loss_is_its_parts_with_their_weights(side):
    fields = {"value_coefficient": 0.7, "entropy_coefficient": 0.3}
    made = make("actor_critic", side, **fields).update(*example("actor_critic", **ONE))
    wanted = made["policy_loss"] + 0.7 * made["value_loss"] - 0.3 * made["entropy"]
    assert made["loss"] == pytest.approx(float(wanted), rel=1e-12)
    error = made["advantage"]
    assert made["value_loss"] == pytest.approx(float(np.mean(error**2) / 2), rel=1e-12)
