"""What the learners from rollouts have in common: identities that need no second implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parity
from impls import load_component
from impls.errors import NonFiniteError
from tests.support.learners import Arrays
from tests.support.rollouts import ALGORITHMS, SIDES, example, make, make_config, start

GROUP = "actor_critic"

pytestmark = pytest.mark.parametrize("algorithm", ALGORITHMS)
each_side = pytest.mark.parametrize("side", SIDES)
each_kind = pytest.mark.parametrize("continuous", [False, True], ids=["discrete", "continuous"])


def same(left, right):
    """The two agree to the project's float64 tolerance."""
    parity.assert_parity(left=dict(left), right=dict(right))


def exactly(left, right):
    assert list(left) == list(right)
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)


def under(state, prefix):
    return {n.removeprefix(f"{prefix}/"): v for n, v in state.items() if n.startswith(f"{prefix}/")}


# state


@each_kind
def test_new_learners_are_the_same_on_every_side(algorithm, continuous):
    config = make_config(algorithm, continuous=continuous)
    torch, tf, reference = (Arrays(algorithm, side, config).state() for side in SIDES)
    exactly(torch, reference)
    exactly(tf, reference)
    assert not under(torch, "target")
    assert ("param/actor_critic/log_std" in torch) == continuous


@pytest.mark.parametrize("optimizer", ["adam", "rmsprop"])
def test_a_state_moves_between_frameworks_without_loss(algorithm, optimizer):
    first, second = (
        make(algorithm, side, optimizer=optimizer, dtype="float32") for side in ("torch", "tf")
    )
    for k in range(2):
        first.update(*example(algorithm, seed=k))
    state = first.state()
    assert state["step"] == 2
    second.load_state(state)
    exactly(second.state(), state)
    second.update(*example(algorithm))
    first.load_state(second.state())
    exactly(first.state(), second.state())


@each_side
def test_a_refused_batch_changes_nothing(algorithm, side):
    learner = make(algorithm, side)
    before = learner.state()
    batch, draws = example(algorithm)
    batch["reward"][2, 1] = np.nan
    with pytest.raises(NonFiniteError, match=r"reward'\]\[2, 1\] is nan"):
        learner.update(batch, draws)
    exactly(learner.state(), before)


@each_side
def test_a_learning_rate_of_zero_stops_the_network(algorithm, side):
    learner = make(algorithm, side)
    learner.set_learning_rate(GROUP, 0.0)
    before = learner.state()
    learner.update(*example(algorithm))
    exactly(under(learner.state(), "param"), under(before, "param"))
    assert learner.state()["step"] == 1


@each_side
def test_updates_on_one_batch_lower_its_loss(algorithm, side):
    """Without a discount the target is the reward, so the goal stays where it is."""
    learner = make(algorithm, side, learning_rate=1e-3, gamma=0.0, optimizer="adam")
    name = "policy_loss" if algorithm == "reinforce" else "value_loss"
    batch, draws = example(algorithm)
    losses = [float(np.mean(learner.update(batch, draws)[name])) for _ in range(10)]
    assert all(later < earlier for earlier, later in zip(losses, losses[1:], strict=False))


# acting


@each_side
def test_a_discrete_action_is_drawn_by_its_probability(algorithm, side):
    learner = make(algorithm, side)
    observation = np.repeat(np.random.default_rng(0).normal(size=(1, 3)), 1000, axis=0)
    uniform = (np.arange(1000) + 0.5) / 1000
    made = learner.act(observation, {"uniform": uniform})
    assert made["action"].dtype == np.int64
    logits = make(algorithm, "reference").learner.forward(observation[:1])["logits"][0]
    share = 1 / (1 + np.exp(logits[0] - logits[1]))
    assert np.mean(made["action"]) == pytest.approx(share, abs=1e-3)
    if algorithm == "ppo":  # the others learn from what the network says when they update
        chosen = np.where(made["action"] == 1, share, 1 - share)
        np.testing.assert_allclose(made["log_prob"], np.log(chosen), rtol=1e-12)
    else:
        assert "log_prob" not in made
    best = learner.greedy(observation)
    assert (best == (1 if share > 0.5 else 0)).all()


@each_side
def test_a_continuous_action_is_recorded_as_drawn_and_clipped_for_the_environment(algorithm, side):
    learner = make(algorithm, side, continuous=True, max_action=(0.5, 2.0))
    rng = np.random.default_rng(0)
    observation, noise = rng.normal(size=(40, 3)), 3.0 * rng.normal(size=(40, 2))
    mean = learner.act(observation, {"noise": np.zeros_like(noise)})["action"]
    log_std = learner.state()["param/actor_critic/log_std"]
    made = learner.act(observation, {"noise": noise})
    bounds = np.array([0.5, 2.0])
    np.testing.assert_allclose(made["action"], mean + np.exp(log_std) * noise, rtol=1e-14)
    np.testing.assert_array_equal(made["clipped_action"], np.clip(made["action"], -bounds, bounds))
    assert (np.abs(made["action"]) > bounds).any()
    if algorithm == "ppo":
        density = np.sum(-(noise**2) / 2 - log_std - np.log(2 * np.pi) / 2, axis=1)
        np.testing.assert_allclose(made["log_prob"], density, rtol=1e-12)
    else:
        assert "log_prob" not in made
    np.testing.assert_array_equal(learner.greedy(observation), np.clip(mean, -bounds, bounds))


@each_kind
def test_all_sides_act_alike(algorithm, continuous):
    rng = np.random.default_rng(3)
    observation = rng.normal(size=(13, 3))
    draws = {"noise": rng.normal(size=(13, 2))} if continuous else {"uniform": rng.random(13)}
    found = {}
    for side in SIDES:
        learner = make(algorithm, side, continuous=continuous)
        found[side] = learner.act(observation, draws) | {"greedy": learner.greedy(observation)}
    parity.assert_parity(**found)


def test_acting_can_be_traced(algorithm):
    tf = pytest.importorskip("tensorflow")
    learner = make(algorithm, "tf").learner
    act, greedy = tf.function(learner.act), tf.function(learner.greedy)
    observation = tf.constant(np.random.default_rng(0).normal(size=(5, 3)))
    for k in range(3):
        draws = {"uniform": tf.constant(np.full(5, k / 3))}
        np.testing.assert_array_equal(
            act(observation, draws)["action"], learner.act(observation, draws)["action"]
        )
    np.testing.assert_array_equal(greedy(observation), learner.greedy(observation))
    assert act.experimental_get_tracing_count() == 1


# gradients of the reference, which decides who is wrong


def rows_of(algorithm, continuous):
    """Arguments of ``loss``: what the links before it make of a batch, or like it."""
    rng = np.random.default_rng(5)
    action = rng.normal(size=(13, 2)) if continuous else rng.integers(2, size=13)
    observation, a, b = rng.normal(size=(13, 3)), rng.normal(size=13), rng.normal(size=13)
    if algorithm == "reinforce":
        return observation, action, a, np.arange(13) % 4 != 1
    if algorithm == "ppo":
        base = -1.8 - np.sum(action**2, axis=1) / 2 if continuous else -0.7
        return observation, action, base + 0.3 * rng.normal(size=13), 0.3 * a, a, b
    return observation, action, a, b


@each_kind
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "separate"])
def test_the_reference_s_gradients_are_slopes_of_its_loss(algorithm, continuous, shared):
    clip = {"value_clip": 0.3} if algorithm == "ppo" else {}
    fields = {"continuous": continuous, "shared": shared, "entropy_coefficient": 0.2}
    learner = make(algorithm, "reference", **fields, **clip)
    rows = rows_of(algorithm, continuous)
    *_, gradients = learner.gradients_of(*rows)
    state, h = learner.state(), 1e-6
    assert list(gradients) == list(under(state, f"param/{GROUP}"))
    for name, gradient in gradients.items():
        index = np.unravel_index(np.argmax(np.abs(gradient)), gradient.shape)
        around = []
        for step in (h, -h):
            moved = {n: v.copy() for n, v in state.items()}
            moved[f"param/{GROUP}/{name}"][index] += step
            learner.load_state(moved)
            around.append(float(learner.loss(*rows)[0]))
        slope = (around[0] - around[1]) / (2 * h)
        assert gradient[index] == pytest.approx(slope, rel=1e-5, abs=1e-9), name


# properties


@each_side
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_the_environments_does_not_matter(algorithm, side, seed):
    fields = {"minibatches": 1} if algorithm == "ppo" else {}
    learner = make(algorithm, side, **fields)
    batch, draws = example(algorithm, seed=seed)
    order = np.random.default_rng(seed).permutation(3)
    results = []
    for columns in (np.arange(3), order):
        learner.load_state(start(algorithm, make_config(algorithm, **fields)))
        made = learner.update({n: a[:, columns] for n, a in batch.items()}, draws)
        results.append((made, learner.state()))
    same({"t": results[0][0]["target"][:, order]}, {"t": results[1][0]["target"]})
    same(under(results[0][1], "param"), under(results[1][1], "param"))


@each_side
def test_environments_never_mix(algorithm, side):
    learner = make(algorithm, side)
    learner.set_learning_rate(GROUP, 0.0)
    batch, draws = example(algorithm)
    before = learner.update(batch, draws)["target"]
    batch["reward"][:, 1] += 5.0
    after = learner.update(batch, draws)["target"]
    np.testing.assert_array_equal(after[:, [0, 2]], before[:, [0, 2]])
    assert not np.array_equal(after[:, 1], before[:, 1])


# compiled


def test_a_traced_update_follows_new_rates_and_traces_per_shape(algorithm):
    eager, traced = (make(algorithm, "tf", variant=v) for v in ("eager", "function"))

    def both_update(times, environments):
        for k in range(times):
            for learner in (eager, traced):
                learner.update(*example(algorithm, environments=environments, seed=k))
        same(traced.state(), eager.state())

    both_update(3, environments=3)
    for learner in (eager, traced):
        learner.set_learning_rate(GROUP, 0.03)
    both_update(2, environments=3)
    assert traced.learner.traces == 1
    both_update(2, environments=5)
    assert traced.learner.traces == 2
    assert eager.learner.traces == 0


# cases


def test_the_cases_have_ends_inside_of_the_rollout(algorithm):
    checks = {check.case: check for check in load_component(algorithm).checks}
    seen = {"terminated": False, "truncated": False}
    for check in checks.values():
        for batch, _ in check.examples(np.random.default_rng(0), 4):
            last = len(batch["reward"]) - 1
            for flag in seen:
                rows = batch[flag] if last == 0 else batch[flag][:last]
                seen[flag] = seen[flag] or bool(rows.any())
    assert all(seen.values())
