"""TD3: what its delay, its two critics and its smoothing must do, whatever the numbers are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.learners import SIDES, Arrays, apart_state, example, make_config

pytestmark = pytest.mark.parametrize("side", SIDES)


def make(side, **fields):
    config = make_config("td3", **fields)
    learner = Arrays("td3", side, config)
    learner.load_state(apart_state("td3", config))
    return learner


@pytest.mark.parametrize("delay", [1, 2, 3])
def test_actor_and_targets_move_in_every_delayed_update_only(side, delay):
    learner = make(side, policy_delay=delay)
    watched = ("param/actor/l2/kernel", "target/actor/l2/kernel", "target/critic/q2/l1/bias")
    for k in range(1, 7):
        before = learner.state()
        made = learner.update(*example("td3", seed=k))
        after = learner.state()
        moved = {not np.array_equal(before[name], after[name]) for name in watched}
        assert moved == {k % delay == 0}
        assert ("actor_loss" in made) == (k % delay == 0)
        assert after["slot/actor/step"] == k // delay
        assert after["slot/critic/step"] == after["step"] == k


def test_the_delay_goes_on_from_a_loaded_state(side):
    learner = make(side, policy_delay=3)
    state = {**learner.state(), "step": np.array(2)}
    learner.load_state(state)
    assert "actor_loss" in learner.update(*example("td3"))


def test_the_target_takes_the_smaller_critic_of_each_row(side):
    learner = make(side)
    batch, draws = example("td3", rows=40)
    next_action = learner.target_action(batch["next_observation"], draws["noise"])
    ends = (batch["terminated"], batch["truncated"])

    def target_with(critics):
        """The target where both critics are copies of the given ones."""
        learner.load_state(
            {
                name: state[name.replace("q1/", f"{critics[0]}/").replace("q2/", f"{critics[1]}/")]
                for name in state
            }
            if critics[0] == critics[1]
            else state
        )
        return learner.target(batch["reward"], batch["next_observation"], next_action, *ends)

    state = learner.state()
    gap = np.mean(target_with(("q2", "q2")) - target_with(("q1", "q1")))
    state["target/critic/q1/l3/bias"] += gap / 0.99 / np.mean(~batch["terminated"])
    alone = [target_with(("q1", "q1")), target_with(("q2", "q2"))]
    np.testing.assert_array_equal(target_with(("q1", "q2")), np.minimum(*alone))
    going_on = ~batch["terminated"]
    assert set(np.argmin(alone, axis=0)[going_on]) == {0, 1}, "each is the smaller one somewhere"


def test_without_noise_the_target_action_is_the_target_actor_s(side):
    learner = make(side)
    batch, draws = example("td3")
    quiet = learner.target_action(batch["next_observation"], np.zeros_like(draws["noise"]))
    silent = make(side, policy_noise=0.0)
    np.testing.assert_array_equal(
        quiet, silent.target_action(batch["next_observation"], draws["noise"])
    )


def test_smoothing_is_in_shares_of_max_action(side):
    bounds = np.array([0.5, 2.0])
    learner = make(side, max_action=(0.5, 2.0), noise_clip=0.1)
    batch, draws = example("td3")
    quiet = learner.target_action(batch["next_observation"], np.zeros_like(draws["noise"]))
    loud = learner.target_action(batch["next_observation"], np.full_like(draws["noise"], 50.0))
    np.testing.assert_allclose(loud, np.minimum(quiet + 0.1 * bounds, bounds), rtol=1e-15)


def test_the_actor_does_not_see_the_second_critic(side):
    learner = make(side)
    batch, _ = example("td3")
    state = learner.state()
    _, before = learner.actor_gradients(batch["observation"])
    zeroed = {n: v * 0 if n.startswith("param/critic/q2/") else v for n, v in state.items()}
    learner.load_state(zeroed)
    _, after = learner.actor_gradients(batch["observation"])
    for name, gradient in before.items():
        np.testing.assert_array_equal(gradient, after[name])


def test_equal_critics_get_equal_gradients(side):
    learner = make(side)
    batch, _ = example("td3")
    state = learner.state()
    state |= {
        n: state[n.replace("critic/q2/", "critic/q1/")]
        for n in state
        if n.startswith("param/critic/q2/")
    }
    learner.load_state(state)
    _, gradients = learner.critic_gradients(batch["observation"], batch["action"], batch["reward"])
    for name in [n for n in gradients if n.startswith("q1/")]:
        np.testing.assert_array_equal(gradients[name], gradients[name.replace("q1/", "q2/")])
