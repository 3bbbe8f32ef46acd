"""REINFORCE: what the reward to go and the padding must do, whatever the numbers are."""

from __future__ import annotations

import numpy as np
import pytest

import parity
from tests.support.rollouts import SIDES, example, make

pytestmark = pytest.mark.parametrize("side", SIDES)


def target_of(learner, batch):
    names = ("reward", "terminated", "truncated", "valid")
    return learner.target(*(batch[name] for name in names))


@pytest.mark.parametrize("clip", [None, 0.05])
def test_an_update_is_its_links_in_order(side, clip):
    whole, parts = (make("reinforce", side, max_gradient_norm=clip) for _ in range(2))
    batch, draws = example("reinforce")
    made = whole.update(batch, draws)
    weight = parts.weight(target_of(parts, batch), batch["valid"])
    rows = parts.flatten(batch["observation"], batch["action"], weight, batch["valid"])
    *losses, gradients = parts.gradients_of(*rows)
    parts.apply(parts.clip(gradients)[0] if clip else gradients)
    assert made["loss"] == pytest.approx(float(losses[0]))
    parity.assert_parity(whole=whole.state(), parts={**parts.state(), "step": np.array(1)})


def test_the_reward_to_go_is_the_sum_of_what_comes(side):
    learner = make("reinforce", side, gamma=0.9)
    batch, _ = example("reinforce", steps=5)
    target, lengths = target_of(learner, batch), batch["valid"].sum(axis=0)
    assert len(set(lengths)) > 1
    for b, length in enumerate(lengths):
        for t in range(5):
            rewards = batch["reward"][t:length, b]
            wanted = np.sum(0.9 ** np.arange(len(rewards)) * rewards)
            assert target[t, b] == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("normalize", [True, False])
def test_what_stands_behind_the_end_does_not_matter(side, normalize):
    results = []
    for noise in (0.0, 100.0):
        learner = make("reinforce", side, normalize_return=normalize, entropy_coefficient=0.3)
        batch, draws = example("reinforce", steps=5)
        for name in ("observation", "reward"):
            behind = ~batch["valid"].reshape(5, 3, *([1] * (batch[name].ndim - 2)))
            batch[name] = batch[name] + noise * behind
        results.append((learner.update(batch, draws), learner.state()))
    parity.assert_parity(quiet=results[0][0], loud=results[1][0])
    parity.assert_parity(quiet=results[0][1], loud=results[1][1])


def test_more_padding_changes_nothing(side):
    batch, draws = example("reinforce", steps=4)
    longer = {n: np.concatenate([a, np.zeros_like(a)]) for n, a in batch.items()}
    states = []
    for given in (batch, longer):
        learner = make("reinforce", side, entropy_coefficient=0.3)
        learner.update(given, draws)
        states.append(learner.state())
    parity.assert_parity(short=states[0], long=states[1])


def test_a_weight_is_normalised_over_valid_steps(side):
    learner = make("reinforce", side)
    batch, _ = example("reinforce", steps=6, environments=4)
    weight = learner.weight(target_of(learner, batch), batch["valid"])
    known = weight[batch["valid"]]
    assert np.mean(known) == pytest.approx(0.0, abs=1e-12)
    assert np.std(known) == pytest.approx(1.0, abs=1e-7)
    assert not weight[~batch["valid"]].any()


def test_a_loss_is_the_mean_over_the_steps_that_there_are(side):
    learner = make("reinforce", side, normalize_return=False)
    batch, _ = example("reinforce")
    valid = batch["valid"].reshape(-1)
    observation, action = batch["observation"].reshape(-1, 3), batch["action"].reshape(-1)
    weight = np.random.default_rng(0).normal(size=12)
    padded = learner.loss(observation, action, weight, valid)
    alone = learner.loss(
        observation[valid], action[valid], weight[valid], np.ones(valid.sum(), bool)
    )
    np.testing.assert_allclose(padded, alone, rtol=1e-12)


def test_the_network_is_a_policy_alone(side):
    names = list(make("reinforce", side, shared=False).state())
    assert not [name for name in names if "value" in name]


def test_rewarded_actions_become_more_probable(side):
    learner = make("reinforce", side, learning_rate=0.01)
    batch, draws = example("reinforce", steps=1, environments=12)
    batch["reward"] = batch["action"].astype(float)
    observation = batch["observation"][0]
    reference, shares = make("reinforce", "reference"), []
    for _ in range(20):
        learner.update(batch, draws)
        reference.load_state(learner.state())
        logits = reference.learner.forward(observation)["logits"]
        shares.append(float(np.mean(1 / (1 + np.exp(logits[:, 0] - logits[:, 1])))))
    assert shares[-1] > shares[0]
