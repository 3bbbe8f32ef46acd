"""PPO: what its ratio, its minibatches and its advantages must do, whatever the numbers are."""

from __future__ import annotations

import numpy as np
import pytest

import parity
from tests.support.rollouts import SIDES, example, make

pytestmark = pytest.mark.parametrize("side", SIDES)


def prepared(learner, batch):
    """Value, advantage, target of a batch."""
    value, next_value = learner.value_estimates(batch["observation"], batch["next_observation"])
    ends = (batch["terminated"], batch["truncated"])
    return value, next_value, *learner.advantage(batch["reward"], value, next_value, *ends)


def minibatches_of(learner, batch, draws):
    value, _, advantage, target = prepared(learner, batch)
    given = (batch["observation"], batch["action"], batch["log_prob"])
    return learner.gather(draws["permutation"], *learner.flatten(*given, value, advantage, target))


def acted(learner, batch):
    """The batch with actions and log-probabilities of the learner's own policy."""
    rows = batch["observation"].reshape(-1, 3)
    made = learner.act(rows, {"uniform": np.random.default_rng(2).random(len(rows))})
    shaped = {n: made[n].reshape(batch["reward"].shape) for n in ("action", "log_prob")}
    return {**batch, **shaped}


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("clip", [None, 0.05])
def test_an_update_is_its_links_in_order(side, clip, normalize):
    fields = {"max_gradient_norm": clip, "normalize_advantage": normalize}
    whole, parts = (make("ppo", side, **fields) for _ in range(2))
    batch, draws = example("ppo")
    made = whole.update(batch, draws)
    everything = minibatches_of(parts, batch, draws)
    for k in range(4):
        s, a, log_prob, value, advantage, target = (x[k] for x in everything)
        if normalize:
            advantage = parts.normalize(advantage)
        *losses, gradients = parts.gradients_of(s, a, log_prob, value, advantage, target)
        parts.apply(parts.clip(gradients)[0] if clip else gradients)
        assert made["loss"][k] == pytest.approx(float(losses[0]))
    parity.assert_parity(whole=whole.state(), parts={**parts.state(), "step": np.array(1)})


def test_each_step_is_used_once_per_epoch_in_the_order_of_its_permutation(side):
    learner = make("ppo", side)
    batch, draws = example("ppo")
    batch["log_prob"] = np.arange(12.0).reshape(4, 3)
    log_prob = minibatches_of(learner, batch, draws)[2]
    assert log_prob.shape == (4, 6)
    np.testing.assert_array_equal(log_prob.reshape(2, 12), draws["permutation"])
    second = learner.minibatch(*minibatches_of(learner, batch, draws))
    np.testing.assert_array_equal(second[2], draws["permutation"][0, :6])


def test_the_orders_matter(side):
    results = []
    for seed in (0, 1):
        learner = make("ppo", side)
        batch, _ = example("ppo")
        learner.update(batch, example("ppo", seed=seed)[1])
        results.append(learner.state()["param/actor_critic/trunk/l1/kernel"])
    assert not np.allclose(*results, rtol=0.0, atol=1e-9)


def test_lambda_of_one_is_the_return_and_of_zero_the_td_error(side):
    batch, _ = example("ppo")
    goes_on = ~(batch["terminated"] | batch["truncated"])[:-1, :, None]
    following = batch["next_observation"]  # within an episode it is the next row's observation
    following[:-1] = np.where(goes_on, batch["observation"][1:], following[:-1])
    learner = make("ppo", side, gae_lambda=1.0, gamma=0.9)
    returns = make("a2c", side, gamma=0.9, optimizer="adam")
    returns.load_state(learner.state())
    _, next_value, _, target = prepared(learner, batch)
    ends = (batch["terminated"], batch["truncated"])
    wanted = returns.target(batch["reward"], next_value, *ends)
    np.testing.assert_allclose(target, wanted, rtol=1e-12, atol=1e-12)
    learner = make("ppo", side, gae_lambda=0.0, gamma=0.9)
    value, next_value, advantage, _ = prepared(learner, batch)
    error = batch["reward"] + 0.9 * ~batch["terminated"] * next_value - value
    np.testing.assert_allclose(advantage, error, rtol=1e-12, atol=1e-12)


def test_on_its_own_actions_the_first_step_is_the_policy_gradient(side):
    """The ratio is 1: value and gradient are those of A2C's loss."""
    ppo, a2c = make("ppo", side), make("a2c", side, optimizer="adam")
    a2c.load_state(ppo.state())
    batch, _ = example("ppo")
    batch = acted(ppo, batch)
    value, _, advantage, target = prepared(ppo, batch)
    given = (batch["observation"], batch["action"], batch["log_prob"])
    rows = ppo.flatten(*given, value, advantage, target)
    *_, gradients = ppo.gradients_of(*rows)
    *_, wanted = a2c.gradients_of(rows[0], rows[1], rows[4], rows[5])
    parity.assert_parity(ppo=gradients, a2c=wanted)
    assert ppo.loss(*rows)[1] == pytest.approx(-float(np.mean(advantage)), rel=1e-10)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_ratio_gains_nothing_beyond_the_clip_and_is_pulled_back_from_the_other_side(side, sign):
    learner = make("ppo", side, entropy_coefficient=0.0, value_coefficient=0.0)
    batch, _ = example("ppo")
    batch = acted(learner, batch)
    rows = [x.reshape(12, *x.shape[2:]) for x in (batch["observation"], batch["action"])]
    log_prob, zeros = batch["log_prob"].reshape(12), np.zeros(12)
    advantage = np.full(12, sign)
    for shift, dead in ((-0.5 * sign, True), (0.5 * sign, False)):
        # the old log-probability is lower: the ratio is above 1
        *_, gradients = learner.gradients_of(*rows, log_prob + shift, zeros, advantage, zeros)
        total = sum(float(np.abs(g).sum()) for g in gradients.values())
        assert (total == 0.0) == dead


def test_a_wide_value_clip_is_none(side):
    batch, draws = example("ppo")
    made = []
    for clip in (None, 1e6):
        learner = make("ppo", side, value_clip=clip)
        learner.update(batch, draws)
        made.append(learner.state())
    parity.assert_parity(none=made[0], wide=made[1])


def test_a_narrow_value_clip_changes_later_minibatches_alone(side):
    batch, draws = example("ppo")
    losses = [
        make("ppo", side, value_clip=clip, learning_rate=0.01).update(batch, draws)["value_loss"]
        for clip in (None, 1e-4)
    ]
    assert losses[0][0] == pytest.approx(losses[1][0], rel=1e-12)
    assert (losses[1][1:] > losses[0][1:]).any()


def test_a_normalised_advantage_has_mean_zero_and_deviation_one(side):
    made = make("ppo", side).normalize(np.random.default_rng(0).normal(3.0, 2.0, 12))
    assert np.mean(made) == pytest.approx(0.0, abs=1e-12)
    assert np.std(made) == pytest.approx(1.0, abs=1e-7)
