"""DQN: what its two networks, its loss and its exploration must do, whatever the numbers are."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from impls.dqn.cases import synthetic
from impls.dqn.config import DQNConfig, initial_state
from impls.learner.cases import apart
from tests.support.learners import SIDES, Arrays

pytestmark = pytest.mark.parametrize("side", SIDES)
ROWS = 40


def make(side, **fields):
    config = DQNConfig(3, 4, (11, 7), **fields)
    learner = Arrays("dqn", side, config)
    learner.load_state(apart(initial_state, config)(np.random.default_rng(1)))
    return learner, config


def batch_of(config, seed=0):
    return dict(synthetic(config, ROWS)(np.random.default_rng(seed), 1)[0][0])


def target(learner, batch):
    names = ("reward", "next_observation", "terminated", "truncated", "steps")
    return learner.target(*(batch[n] for n in names if n in batch))


def values(learner, which, observation):
    """Action values of one of the networks, by a reference with the same state."""
    state = learner.state()
    h = observation
    for i in (1, 2, 3):
        h = h @ state[f"{which}/q/l{i}/kernel"] + state[f"{which}/q/l{i}/bias"]
        h = np.maximum(h, 0.0) if i < 3 else h
    return h


def test_the_target_ends_at_termination_and_only_there(side):
    learner, config = make(side)
    batch = batch_of(config)
    y, ends = target(learner, batch), batch["terminated"]
    np.testing.assert_array_equal(y[ends], batch["reward"][ends])
    assert (y[~ends] != batch["reward"][~ends]).all()
    free = {**batch, "truncated": np.zeros(ROWS, bool)}
    np.testing.assert_array_equal(target(learner, free), y)


def test_dqn_takes_the_largest_value_of_the_target_network(side):
    learner, config = make(side, double=False, gamma=1.0)
    batch = {**batch_of(config), "terminated": np.zeros(ROWS, bool)}
    best = values(learner, "target", batch["next_observation"]).max(axis=1)
    np.testing.assert_allclose(target(learner, batch), batch["reward"] + best, atol=1e-12, rtol=0)


def test_double_dqn_never_exceeds_dqn(side):
    """Its action need not be the best of the network that values it."""
    double, config = make(side)
    single, _ = make(side, double=False)
    batch = batch_of(config)
    gap = target(single, batch) - target(double, batch)
    assert (gap >= -1e-12).all()
    assert gap.max() > 1e-3


def test_both_agree_once_the_networks_are_equal(side):
    double, config = make(side)
    single, _ = make(side, double=False)
    for learner in (double, single):
        learner.update_target()
    batch = batch_of(config)
    np.testing.assert_allclose(target(single, batch), target(double, batch), atol=1e-12, rtol=0)


def test_n_step_targets_discount_by_their_own_number_of_steps(side):
    learner, config = make(side, n_step=3)
    batch = {**batch_of(config), "terminated": np.zeros(ROWS, bool), "reward": np.zeros(ROWS)}
    one = target(learner, {**batch, "steps": np.ones(ROWS, np.int64)})
    three = target(learner, {**batch, "steps": np.full(ROWS, 3)})
    np.testing.assert_allclose(three, one * 0.99**2, atol=1e-12, rtol=0)


def test_the_target_network_moves_in_every_period_th_update_only(side):
    learner, config = make(side, target_period=3)
    name = "target/q/l2/kernel"
    for k in range(1, 8):
        before = learner.state()[name]
        learner.update(batch_of(config, k), {})
        after = learner.state()
        assert np.array_equal(before, after[name]) == (k % 3 != 0)
        if k % 3 == 0:
            np.testing.assert_array_equal(after[name], after["param/q/l2/kernel"])


def test_equal_weights_scale_the_loss(side):
    plain, _ = make(side)
    weighted, wide = make(side, weighted=True)
    batch = batch_of(wide)
    y = target(plain, batch)
    s, a = batch["observation"], batch["action"]
    half = weighted.loss(s, a, y, np.full(ROWS, 0.5))
    np.testing.assert_allclose(half, 0.5 * plain.loss(s, a, y), atol=1e-12, rtol=0)


def test_the_loss_is_linear_far_out(side):
    """The gradient of one row is bounded by delta, so doubling a large error changes nothing."""
    learner, config = make(side, huber_delta=0.5)
    batch = batch_of(config)
    s, a = batch["observation"][:1], batch["action"][:1]
    _, near = learner.loss_gradients(s, a, np.array([100.0]))
    _, far = learner.loss_gradients(s, a, np.array([200.0]))
    for name in near:
        np.testing.assert_allclose(near[name], far[name], atol=1e-12, rtol=0)


def test_only_the_taken_action_is_trained(side):
    learner, config = make(side)
    batch = batch_of(config)
    action = np.full(ROWS, 2)
    _, gradients = learner.loss_gradients(batch["observation"], action, np.zeros(ROWS))
    assert not gradients["l3/kernel"][:, [0, 1, 3]].any()
    assert gradients["l3/kernel"][:, 2].any()


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_acting_is_random_where_the_draw_is_below_epsilon(side, epsilon):
    config = DQNConfig(3, 4, (11, 7))
    sibling = {"torch": "torch_impl", "tf": "tf_impl", "reference": "numpy_ref"}[side]
    learner = import_module(f"impls.dqn.{sibling}").make_learner(config, dtype="float64")
    backend = Arrays("dqn", side, config).backend
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(ROWS, 3))
    draws = {
        "uniform": rng.random(ROWS),
        "random_action": rng.integers(4, size=ROWS),
        "epsilon": np.array(epsilon),
    }
    given = {n: backend.tensor(v, dtype="float64") for n, v in draws.items()}
    tensor = backend.tensor(seen, dtype="float64")
    action = np.asarray(learner.act(tensor, given)["action"])
    greedy = np.asarray(learner.greedy(tensor))
    random = draws["uniform"] < epsilon
    np.testing.assert_array_equal(action[random], draws["random_action"][random])
    np.testing.assert_array_equal(action[~random], greedy[~random])
    assert action.dtype == greedy.dtype == np.int64
