"""DDPG: its single critic and the decay of its weights."""

from __future__ import annotations

import numpy as np
import pytest

from impls.ddpg.config import DDPGConfig
from tests.support.learners import SIDES, Arrays, apart_state, example, make_config

pytestmark = pytest.mark.parametrize("side", SIDES)


def make(side, **fields):
    config = make_config("ddpg", **fields)
    learner = Arrays("ddpg", side, config)
    learner.load_state(apart_state("ddpg", config))
    return learner


def test_every_network_moves_in_every_update(side):
    learner = make(side)
    for k in range(1, 3):
        before = learner.state()
        made = learner.update(*example("ddpg", seed=k))
        after = learner.state()
        for name in ("param/critic/l1/kernel", "param/actor/l1/kernel", "target/critic/l1/kernel"):
            assert not np.array_equal(before[name], after[name])
        assert after["slot/actor/step"] == after["slot/critic/step"] == after["step"] == k
        assert {"critic_loss", "actor_loss"} <= set(made)


def test_decay_is_part_of_the_critic_s_gradient(side):
    """Adam's first moment after a first step is ``0.1 (gradient + decay * parameter)``."""
    decay = 0.25
    learner = make(side, critic_weight_decay=decay)
    state = learner.state()
    nothing = {
        n.removeprefix("param/critic/"): np.zeros_like(v)
        for n, v in state.items()
        if n.startswith("param/critic/")
    }
    learner.apply_critic(nothing)
    after = learner.state()
    for name in nothing:
        moment = after[f"slot/critic/m/{name}"]
        np.testing.assert_allclose(moment, 0.1 * decay * state[f"param/critic/{name}"], rtol=1e-12)


def test_the_actor_has_no_decay(side):
    learner = make(side, critic_weight_decay=0.25)
    state = learner.state()
    prefix = "param/actor/"
    names = [n.removeprefix(prefix) for n in state if n.startswith(prefix)]
    learner.apply_actor({n: np.zeros_like(state[prefix + n]) for n in names})
    after = learner.state()
    for name in names:
        np.testing.assert_array_equal(after[prefix + name], state[prefix + name])


def test_the_paper_s_constants_are_the_defaults(side):
    config = DDPGConfig(3, 1)
    learner = Arrays("ddpg", side, config)
    state = learner.state()
    assert state["learning_rate/actor"] == 1e-4
    assert state["learning_rate/critic"] == 1e-3
    assert state["param/critic/l2/kernel"].shape == (400, 300)
    assert (config.gamma, config.tau, config.critic_weight_decay) == (0.99, 0.001, 1e-2)
