"""SAC: what its policy, its entropy term and its temperature must do, whatever the numbers are."""

from __future__ import annotations

import numpy as np
import pytest

import parity
from impls.learner.cases import synthetic_batches
from impls.sac.cases import both_noises, starting_state
from impls.sac.config import SACConfig
from tests.support.learners import SIDES, Arrays

each_side = pytest.mark.parametrize("side", SIDES)
ROWS = 40
EXAMPLES = both_noises(synthetic_batches(3, 2, rows=ROWS, noise=True))


def make(side, **fields):
    config = SACConfig(
        **{"observation_size": 3, "action_size": 2, "hidden_sizes": (11, 7)} | fields
    )
    learner = Arrays("sac", side, config)
    noisy = synthetic_batches(3, config.action_size, rows=ROWS, noise=True)
    learner.load_state(starting_state(config, noisy)(np.random.default_rng(1)))
    return learner


def example(seed=0):
    [(batch, draws)] = EXAMPLES(np.random.default_rng(seed), 1)
    return dict(batch), dict(draws)


def target(learner, batch, draws, alpha=None):
    s_next = batch["next_observation"]
    action, log_prob = learner.sample(s_next, draws["next_noise"])
    alpha = learner.alpha() if alpha is None else np.array(alpha)
    ends = batch["terminated"], batch["truncated"]
    return learner.target(batch["reward"], s_next, action, log_prob, alpha, *ends)


def under(state, prefix):
    return {n: v for n, v in state.items() if n.startswith(f"{prefix}/")}


def with_log_std(learner, value):
    """The second half of the actor's output is ``value`` in every row, before it is clipped."""
    state = learner.state()
    kernel, bias = state["param/actor/l3/kernel"], state["param/actor/l3/bias"]
    half = len(bias) // 2
    kernel[:, half:], bias[half:] = 0.0, value
    learner.load_state(state)


# the policy


@each_side
@pytest.mark.parametrize("log_std", [-1.5, 0.3])
def test_the_density_of_the_action_integrates_to_one(side, log_std):
    learner = make(side, action_size=1, max_action=2.0)
    with_log_std(learner, log_std)
    noise = np.linspace(-9.0, 9.0, 20_001)[:, None]
    action, log_prob = learner.sample(np.tile([[0.3, -0.2, 0.1]], (len(noise), 1)), noise)
    mass = np.trapezoid if hasattr(np, "trapezoid") else np.trapz
    assert mass(np.exp(log_prob), action[:, 0]) == pytest.approx(1.0, abs=1e-6)


@each_side
def test_actions_stay_in_bounds_and_exploring_without_noise_is_greedy(side):
    learner = make(side, max_action=(0.5, 2.0))
    batch, draws = example()
    wild = learner.act(batch["observation"] * 100, {"noise": draws["noise"] * 100})["action"]
    assert wild.shape == (ROWS, 2)
    assert (np.abs(wild) <= [0.5, 2.0]).all()
    assert (np.abs(wild).max(axis=0) > [0.49, 1.96]).all(), "each dimension has its own bound"
    quiet = learner.act(batch["observation"], {"noise": np.zeros((ROWS, 2))})["action"]
    np.testing.assert_array_equal(quiet, learner.greedy(batch["observation"]))


@each_side
@pytest.mark.parametrize("output", [-50.0, 40.0])
def test_beyond_its_bounds_the_deviation_is_clipped_and_gets_no_gradient(side, output):
    learner = make(side, log_std_min=-4.0, log_std_max=1.0)
    batch, draws = example()
    s, noise = batch["observation"], draws["noise"]
    with_log_std(learner, output)
    beyond, gradients = learner.sample(s, noise), learner.actor_gradients(s, noise, 0.2)[2]
    assert (gradients["l3/bias"][2:] == 0.0).all()
    assert (gradients["l3/bias"][:2] != 0.0).all()
    with_log_std(learner, np.clip(output, -4.0, 1.0))
    on, gradients = learner.sample(s, noise), learner.actor_gradients(s, noise, 0.2)[2]
    for left, right in zip(beyond, on, strict=True):
        np.testing.assert_array_equal(left, right)
    assert (gradients["l3/bias"][2:] != 0.0).all(), "on the bound the gradient passes"


# the target


@each_side
def test_an_end_of_the_task_leaves_the_reward_and_a_time_limit_does_not(side):
    learner = make(side)
    batch, draws = example()
    y, ended = target(learner, batch, draws), batch["terminated"]
    np.testing.assert_array_equal(y[ended], batch["reward"][ended])
    assert (np.abs(y[~ended] - batch["reward"][~ended]) > 1e-6).all()
    flipped = {**batch, "truncated": ~batch["truncated"]}
    np.testing.assert_array_equal(target(learner, flipped, draws), y)


@each_side
def test_the_entropy_of_the_next_action_is_weighted_and_discounted(side):
    learner = make(side, gamma=0.9)
    batch, draws = example()
    log_prob = learner.sample(batch["next_observation"], draws["next_noise"])[1]
    bonus = target(learner, batch, draws, alpha=0.3) - target(learner, batch, draws, alpha=0.0)
    wanted = np.where(batch["terminated"], 0.0, -0.9 * 0.3 * log_prob)
    np.testing.assert_allclose(bonus, wanted, atol=1e-12, rtol=0)


@each_side
def test_target_and_actor_take_the_smaller_critic_of_each_row(side):
    """With one critic in both places the value is that critic's alone."""
    learner = make(side)
    batch, draws = example()
    state = learner.state()

    def values(critics):
        """Of target and of actor loss, row by row, with copies of the given critics."""
        source = dict(zip(("q1", "q2"), critics, strict=True))
        learner.load_state(
            {
                n: state[n.replace(f"/{q}/", f"/{source[q]}/")]
                if (q := n.split("critic/")[-1].split("/")[0]) in source and "slot" not in n
                else state[n]
                for n in state
            }
        )
        s, noise = batch["observation"], draws["noise"]
        rows = [learner.actor_loss(s[i : i + 1], noise[i : i + 1], 0.0) for i in range(ROWS)]
        return target(learner, batch, draws), -np.array(rows)

    first, second, both = (values(c) for c in (("q1", "q1"), ("q2", "q2"), ("q1", "q2")))
    for one, two, smaller in zip(first, second, both, strict=True):
        assert (one < two).any() and (two < one).any(), "each is the smaller one somewhere"
        np.testing.assert_array_equal(smaller, np.minimum(one, two))


# one network at a time


@each_side
def test_each_learning_rate_moves_its_own_part_alone(side):
    for group in ("critic", "actor", "temperature"):
        learner = make(side)
        for other in {"critic", "actor", "temperature"} - {group}:
            learner.set_learning_rate(other, 0.0)
        before = learner.state()
        learner.update(*example())
        after = learner.state()
        moved = {
            n.split("/")[1]
            for n in under(before, "param")
            if not np.array_equal(before[n], after[n])
        }
        assert moved == {group}


@each_side
def test_only_the_critics_have_targets(side):
    state = Arrays("sac", side, SACConfig(3, 2, hidden_sizes=(11, 7))).state()
    assert {n.split("/")[1] for n in under(state, "target")} == {"critic"}
    for name, value in under(state, "target").items():
        np.testing.assert_array_equal(value, state[name.replace("target/", "param/")])


@each_side
@pytest.mark.parametrize("tau", [0.0, 1.0])
def test_tau_of_zero_keeps_the_targets_and_tau_of_one_copies(side, tau):
    learner = make(side, tau=tau)
    before = learner.state()
    learner.update(*example())
    after = learner.state()
    for name, value in under(after, "target").items():
        wanted = after[name.replace("target/", "param/")] if tau else before[name]
        np.testing.assert_array_equal(value, wanted)


# the temperature


@each_side
@pytest.mark.parametrize(("distance", "rises"), [(0.5, True), (-0.5, False)])
def test_the_temperature_moves_the_entropy_to_its_target(side, distance, rises):
    batch, draws = example()
    entropy = -make(side).sample(batch["observation"], draws["noise"])[1].mean()
    learner = make(side, target_entropy=float(entropy) + distance)
    before = learner.alpha()
    made = learner.update(batch, draws)
    assert made["alpha"] == before, "the one that target and actor were computed with"
    assert (learner.alpha() > before) == rises


@each_side
def test_the_target_entropy_is_minus_the_dimensions_unless_it_is_given(side):
    batch, draws = example()
    given = make(side, target_entropy=-2.0).update(batch, draws)
    assert make(side).update(batch, draws)["temperature_loss"] == given["temperature_loss"]
    other = make(side, target_entropy=2.0).update(batch, draws)
    assert other["temperature_loss"] == pytest.approx(given["temperature_loss"] - 4.0)


@each_side
def test_a_fixed_temperature_stays(side):
    learner = make(side, learn_temperature=False, initial_temperature=0.3)
    assert learner.alpha() == pytest.approx(0.3, rel=1e-7)
    before = learner.state()
    for seed in range(3):
        assert "temperature_loss" not in learner.update(*example(seed))
    after = learner.state()
    for name in [n for n in before if "temperature" in n]:
        np.testing.assert_array_equal(before[name], after[name])


# the whole


@each_side
@pytest.mark.parametrize("clip", [None, 0.05])
def test_an_update_is_its_links_in_order(side, clip):
    whole, parts = (make(side, max_gradient_norm=clip) for _ in range(2))
    batch, draws = example()
    whole.update(batch, draws)
    s, alpha = batch["observation"], parts.alpha()
    y = target(parts, batch, draws)
    loss, gradients = parts.critic_gradients(s, batch["action"], y)
    assert loss == pytest.approx(parts.critic_loss(s, batch["action"], y))
    parts.apply_critic(parts.clip_critic(gradients)[0] if clip else gradients)
    loss, log_prob, gradients = parts.actor_gradients(s, draws["noise"], alpha)
    assert loss == pytest.approx(parts.actor_loss(s, draws["noise"], alpha))
    parts.apply_actor(parts.clip_actor(gradients)[0] if clip else gradients)
    loss, gradients = parts.temperature_gradients(log_prob)
    assert loss == pytest.approx(parts.temperature_loss(log_prob))
    parts.apply_temperature(gradients)
    parts.update_targets()
    parity.assert_parity(left=whole.state(), right={**parts.state(), "step": np.array(1)})


@pytest.mark.parametrize("group", ["critic", "actor", "temperature"])
def test_the_reference_s_gradients_are_slopes_of_its_losses(group):
    learner = make("reference", max_action=(0.5, 2.0), log_std_min=-0.3, log_std_max=0.1)
    batch, draws = example()
    s, y = batch["observation"], target(learner, batch, draws)
    inputs = {
        "critic": (s, batch["action"], y),
        "actor": (s, draws["noise"], learner.alpha()),
        "temperature": (learner.sample(s, draws["noise"])[1],),
    }[group]
    gradients = getattr(learner, f"{group}_gradients")(*inputs)[-1]
    loss, state, h = getattr(learner, f"{group}_loss"), learner.state(), 1e-6
    prefix = f"param/{group}/"
    assert [prefix + name for name in gradients] == [n for n in state if n.startswith(prefix)]
    for name, gradient in gradients.items():
        index = np.unravel_index(np.argmax(np.abs(gradient)), gradient.shape)
        around = []
        for step in (h, -h):
            moved = {n: v.copy() for n, v in state.items()}
            moved[prefix + name][index] += step
            learner.load_state(moved)
            around.append(float(loss(*inputs)))
        slope = (around[0] - around[1]) / (2 * h)
        assert gradient[index] == pytest.approx(slope, rel=1e-5, abs=1e-9), name


def test_a_traced_update_is_one_graph_that_follows_new_rates_and_temperatures():
    config = SACConfig(3, 2, hidden_sizes=(11, 7))
    eager, traced = (Arrays("sac", "tf", config, variant=v) for v in ("eager", "function"))
    for learner in (eager, traced):
        for seed in range(6):
            if seed == 3:
                learner.set_learning_rate("temperature", 0.3)
            learner.update(*example(seed))
    parity.assert_parity(eager=eager.state(), traced=traced.state())
    assert (traced.learner.traces, eager.learner.traces) == (1, 0)
