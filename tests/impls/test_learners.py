"""What DDPG and TD3 have in common: identities that need no second implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parity
from impls import load_component
from impls.errors import NonFiniteError
from tests.support.learners import SIDES, Arrays, apart_state, example, make_config

ALGORITHMS = ("ddpg", "td3")
GROUPS = ("critic", "actor")

pytestmark = pytest.mark.parametrize("algorithm", ALGORITHMS)
each_side = pytest.mark.parametrize("side", SIDES)


def same(left, right):
    """The two agree to the project's float64 tolerance."""
    parity.assert_parity(left=dict(left), right=dict(right))


def exactly(left, right):
    assert list(left) == list(right)
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)


def make(algorithm, side, *, seed=1, dtype="float64", variant="eager", **fields):
    config = make_config(algorithm, **fields)
    learner = Arrays(algorithm, side, config, dtype=dtype, variant=variant)
    learner.load_state(apart_state(algorithm, config, seed))
    return learner


def under(state, prefix):
    return {n.removeprefix(f"{prefix}/"): v for n, v in state.items() if n.startswith(f"{prefix}/")}


def target_of(learner, batch, draws):
    next_action = learner.target_action(batch["next_observation"], *draws.values())
    fields = (batch["reward"], batch["next_observation"], next_action)
    return learner.target(*fields, batch["terminated"], batch["truncated"])


# state


def test_new_learners_are_the_same_on_every_side(algorithm):
    config = make_config(algorithm)
    torch, tf, reference = (Arrays(algorithm, side, config).state() for side in SIDES)
    exactly(torch, reference)
    exactly(tf, reference)
    for group in GROUPS:
        exactly(under(torch, f"target/{group}"), under(torch, f"param/{group}"))


@pytest.mark.parametrize("side", SIDES)
def test_each_network_starts_with_its_own_learning_rate(algorithm, side):
    """The configuration is shared: the sides would agree on rates that are swapped."""
    config = make_config(algorithm, actor_learning_rate=1e-3, critic_learning_rate=5e-4)
    rates = under(Arrays(algorithm, side, config).state(), "learning_rate")
    assert rates == {"actor": 1e-3, "critic": 5e-4}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_state_moves_between_frameworks_without_loss(algorithm, dtype):
    first, second = (make(algorithm, side, dtype=dtype) for side in ("torch", "tf"))
    for _ in range(3):
        first.update(*example(algorithm))
    state = first.state()
    assert state["step"] == 3
    second.load_state(state)
    exactly(second.state(), state)
    second.update(*example(algorithm))
    first.load_state(second.state())
    exactly(first.state(), second.state())


@each_side
def test_a_state_is_a_copy(algorithm, side):
    learner = make(algorithm, side)
    before = learner.state()
    kept = {name: value.copy() for name, value in before.items()}
    learner.update(*example(algorithm))
    exactly(before, kept)
    before["param/actor/l1/bias"] += 1.0
    assert not np.array_equal(learner.state()["param/actor/l1/bias"], before["param/actor/l1/bias"])


@each_side
def test_a_refused_batch_changes_nothing(algorithm, side):
    learner = make(algorithm, side)
    before = learner.state()
    batch, draws = example(algorithm)
    batch["reward"][2] = np.nan
    with pytest.raises(NonFiniteError):
        learner.update(batch, draws)
    exactly(learner.state(), before)


@each_side
def test_the_look_at_the_values_can_be_left_out(algorithm, side):
    learner = make(algorithm, side, check_finite=False)
    batch, draws = example(algorithm)
    batch["reward"][2] = np.nan
    assert np.isnan(learner.update(batch, draws)["critic_loss"])


# the chain


def walk(learner, algorithm, batch, draws, clips):
    """The links one by one, as ``update`` composes them."""
    made = {"target": target_of(learner, batch, draws)}
    inputs = (batch["observation"], batch["action"], made["target"])
    loss, gradients = learner.critic_gradients(*inputs)
    assert loss == pytest.approx(learner.critic_loss(*inputs))
    learner.apply_critic(learner.clip_critic(gradients)[0] if clips else gradients)
    loss, gradients = learner.actor_gradients(batch["observation"])
    assert loss == pytest.approx(learner.actor_loss(batch["observation"]))
    learner.apply_actor(learner.clip_actor(gradients)[0] if clips else gradients)
    learner.update_targets()


@each_side
@pytest.mark.parametrize("clip", [None, 0.05])
def test_an_update_is_its_links_in_order(algorithm, side, clip):
    fields = {"max_gradient_norm": clip} | ({"policy_delay": 1} if algorithm == "td3" else {})
    whole, parts = (make(algorithm, side, **fields) for _ in range(2))
    batch, draws = example(algorithm)
    whole.update(batch, draws)
    walk(parts, algorithm, batch, draws, clips=clip is not None)
    same(whole.state(), {**parts.state(), "step": np.array(1)})


@each_side
def test_an_end_of_the_task_leaves_the_reward_and_a_time_limit_does_not(algorithm, side):
    learner = make(algorithm, side)
    batch, draws = example(algorithm)
    target = target_of(learner, batch, draws)
    ended = batch["terminated"]
    np.testing.assert_array_equal(target[ended], batch["reward"][ended])
    assert (np.abs(target[~ended] - batch["reward"][~ended]) > 1e-6).all()
    flipped = {**batch, "truncated": ~batch["truncated"]}
    np.testing.assert_array_equal(target_of(learner, flipped, draws), target)


@each_side
def test_without_discount_the_target_is_the_reward(algorithm, side):
    batch, draws = example(algorithm)
    learner = make(algorithm, side, gamma=0.0)
    np.testing.assert_array_equal(target_of(learner, batch, draws), batch["reward"])


@each_side
@pytest.mark.parametrize("tau", [0.0, 1.0])
def test_tau_of_zero_keeps_the_targets_and_tau_of_one_copies(algorithm, side, tau):
    learner = make(algorithm, side, tau=tau)
    before = learner.state()
    for _ in range(2):
        learner.update(*example(algorithm))
    after = learner.state()
    for group in GROUPS:
        wanted = under(after, f"param/{group}") if tau else under(before, f"target/{group}")
        exactly(under(after, f"target/{group}"), wanted)


@each_side
def test_a_learning_rate_of_zero_stops_one_network(algorithm, side):
    learner = make(algorithm, side)
    learner.set_learning_rate("critic", 0.0)
    before = learner.state()
    for _ in range(2):
        learner.update(*example(algorithm))
    after = learner.state()
    exactly(under(after, "param/critic"), under(before, "param/critic"))
    moved = under(after, "param/actor")
    assert not np.array_equal(moved["l1/bias"], before["param/actor/l1/bias"])
    assert after["learning_rate/critic"] == 0.0


# gradients of the reference, which decides who is wrong


@pytest.mark.parametrize("group", GROUPS)
def test_the_reference_s_gradients_are_slopes_of_its_losses(algorithm, group):
    learner = make(algorithm, "reference", max_action=(0.5, 2.0))
    batch, draws = example(algorithm)
    target = target_of(learner, batch, draws)
    inputs = {
        "critic": (batch["observation"], batch["action"], target),
        "actor": (batch["observation"],),
    }[group]
    _, gradients = getattr(learner, f"{group}_gradients")(*inputs)
    loss, state, h = getattr(learner, f"{group}_loss"), learner.state(), 1e-6
    assert list(gradients) == list(under(state, f"param/{group}"))
    for name, gradient in gradients.items():
        index = np.unravel_index(np.argmax(np.abs(gradient)), gradient.shape)
        around = []
        for step in (h, -h):
            moved = {n: v.copy() for n, v in state.items()}
            moved[f"param/{group}/{name}"][index] += step
            learner.load_state(moved)
            around.append(float(loss(*inputs)))
        slope = (around[0] - around[1]) / (2 * h)
        assert gradient[index] == pytest.approx(slope, rel=1e-5, abs=1e-9), name


# properties


@each_side
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_does_not_matter(algorithm, side, seed):
    learner = make(algorithm, side)
    batch, draws = example(algorithm, seed=seed)
    order = np.random.default_rng(seed).permutation(13)
    results = []
    for rows in (np.arange(13), order):
        learner.load_state(apart_state(algorithm, make_config(algorithm), seed))
        picked = ({n: a[rows] for n, a in arrays.items()} for arrays in (batch, draws))
        made = learner.update(*picked)
        results.append(({**made, "target": np.sort(made["target"])}, learner.state()))
    same(results[0][0], results[1][0])
    same(under(results[0][1], "param/critic"), under(results[1][1], "param/critic"))


@each_side
@settings(max_examples=10)
@given(scale=st.floats(0.125, 1e4, width=32), seed=st.integers(0, 99))
def test_actions_stay_in_bounds(algorithm, side, scale, seed):
    bounds = np.array([0.5, 2.0])
    learner = make(algorithm, side, max_action=(0.5, 2.0))
    batch, draws = example(algorithm, seed=seed)
    draws = {name: noise * scale for name, noise in draws.items()}
    action = learner.target_action(batch["next_observation"] * scale, *draws.values())
    assert action.shape == (13, 2)
    assert (np.abs(action) <= bounds).all()


# compiled


def test_a_traced_update_follows_new_rates_and_traces_per_batch_size(algorithm):
    graphs = {"ddpg": 1, "td3": 2}[algorithm]
    eager, traced = (make(algorithm, "tf", variant=v) for v in ("eager", "function"))

    def both_update(times, rows):
        for k in range(times):
            for learner in (eager, traced):
                learner.update(*example(algorithm, rows=rows, seed=k))
        same(traced.state(), eager.state())

    both_update(4, rows=13)
    for learner in (eager, traced):
        learner.set_learning_rate("actor", 0.3)
    both_update(4, rows=13)
    assert traced.learner.traces == graphs
    both_update(2, rows=5)
    assert traced.learner.traces == 2 * graphs
    assert eager.learner.traces == 0


# cases


def test_the_cases_have_every_kind_of_end(algorithm):
    checks = {check.case: check for check in load_component(algorithm).checks}
    for case, check in checks.items():
        batches = [batch for batch, _ in check.examples(np.random.default_rng(0), 4)]
        flags = {n: np.concatenate([b[n] for b in batches]) for n in ("terminated", "truncated")}
        assert flags["truncated"].any() or case == "one-row", case
        assert not (flags["terminated"] & flags["truncated"]).all(), case
        if case in ("lunar-lander", "square"):
            assert flags["terminated"].any(), case


def test_the_cases_start_with_targets_of_their_own(algorithm):
    for check in load_component(algorithm).checks:
        state = check.initial_state(np.random.default_rng(0))
        for group in GROUPS:
            pairs = zip(
                under(state, f"target/{group}").values(),
                under(state, f"param/{group}").values(),
                strict=True,
            )
            assert not any(np.array_equal(a, b) for a, b in pairs)
