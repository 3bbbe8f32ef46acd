"""A3C: any legal order of events is the same training on every side, live or replayed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impls.a3c.cases import TINY, drawn_order, workers_apart
from impls.a3c.config import PULL, PUSH, A3CConfig, initial_state, require_order
from impls.a3c.workers import Plan, replay, run_processes, run_threads
from impls.errors import ConfigError, DtypeError, ShapeError
from impls.learner.rollout_cases import synthetic_rollouts
from parity.backends import get_backend
from parity.runner import load_siblings

SIDES = ("torch", "tf", "reference")
COMPOSED = 1e-10
CONFIG = A3CConfig(4, 2, hidden_sizes=(5,), workers=3, learning_rate=0.01, entropy_coefficient=0.05)
PLAN = Plan("reference", CONFIG, "CartPole-v1", seed=11, steps=4, rounds=5, max_episode_steps=9)


def order_of(*events):
    return np.array([[int(e[0]), PULL if e[1] == "<" else PUSH] for e in events])


def require_same_state(found, wanted):
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=0, atol=COMPOSED, err_msg=name)


def orders(workers, most):
    """Legal orders: who is next is free, and what it does is not."""
    return st.lists(st.integers(0, workers - 1), min_size=2, max_size=most).map(
        lambda next_ones: np.array(
            [
                (worker, (PULL, PUSH)[next_ones[:i].count(worker) % 2])
                for i, worker in enumerate(next_ones)
            ]
        )
    )


def performed(side, order, rollouts, config, state):
    """The learner of a side after the events, on rollouts that are given for each event."""
    learner = load_siblings("impls.a3c")[side].make_learner(config, dtype="float64")
    learner.load_state(state)
    backend, gradients = get_backend(side), {}
    for (worker, event), batch in zip(order.tolist(), rollouts, strict=True):
        if event == PULL:
            learner.pull(worker)
            given_ = {n: backend.tensor(a, dtype="float64") for n, a in batch.items()}
            gradients[worker] = learner.gradients(worker, **given_)[1]
        else:
            learner.push(worker, gradients[worker])
    assert learner.order.tolist() == order.tolist()
    return learner


@given(data=st.data())
@settings(max_examples=8, deadline=None, database=None, derandomize=True)
def test_every_legal_order_gives_the_same_parameters_on_every_side(data):
    config = replace(TINY.config, workers=data.draw(st.integers(1, 3), label="workers"))
    order = data.draw(orders(config.workers, 14), label="order")
    rng = np.random.default_rng(data.draw(st.integers(0, 99), label="rng"))
    make = synthetic_rollouts(3, 2, steps=3, environments=1)
    rollouts = [batch for batch, _ in make(rng, len(order))]
    state = workers_apart(config)(rng)
    require_order(order, config.workers)
    made = {side: performed(side, order, rollouts, config, state).state() for side in SIDES}
    for side in ("torch", "tf"):
        require_same_state(made[side], made["reference"])


@pytest.mark.parametrize("side", SIDES)
def test_the_order_matters(side):
    """Else a replay in any order would agree, and the order would be no data at all."""
    rollouts = [
        b for b, _ in synthetic_rollouts(3, 2, steps=3, environments=1)(np.random.default_rng(0), 4)
    ]
    config = replace(TINY.config, workers=2, learning_rate=0.01)
    state = initial_state(config, np.random.default_rng(1))
    together, apart = order_of("0<", "1<", "0>", "1>"), order_of("0<", "0>", "1<", "1>")
    one = performed(side, together, [rollouts[0], rollouts[1]] * 2, config, state).state()
    two = performed(
        side, apart, [rollouts[0], rollouts[0], rollouts[1], rollouts[1]], config, state
    ).state()
    difference = max(np.abs(one[n] - two[n]).max() for n in one if n.startswith("param/"))
    assert difference > 1e-5


@pytest.mark.parametrize("side", SIDES)
def test_one_worker_alone_is_a2c(side):
    """Pull, push, pull, push, ... with one worker: A2C's own updates on the same rollouts."""
    backend, config = get_backend(side), TINY.config
    rollouts = [
        b for b, _ in synthetic_rollouts(3, 2, steps=3, environments=1)(np.random.default_rng(0), 4)
    ]
    learner = load_siblings("impls.a3c")[side].make_learner(config, dtype="float64")
    alone = load_siblings("impls.a2c")[side].make_learner(config, dtype="float64")
    for batch in rollouts:
        given_ = {name: backend.tensor(array, dtype="float64") for name, array in batch.items()}
        alone.update(given_, {})
        learner.pull(0)
        learner.push(0, learner.gradients(0, **given_)[1])
    state = {n: v for n, v in learner.state().items() if not n.startswith("pulled/")}
    require_same_state(state, alone.state())


@pytest.mark.parametrize("side", SIDES)
def test_threads_are_replayed_by_one_thread_of_any_side(side):
    plan = replace(PLAN, side=side)
    live = run_threads(plan)
    assert sorted(map(tuple, live.order.tolist())) == sorted(
        [(w, e) for w in range(3) for e in (PULL, PUSH)] * plan.rounds
    )
    for other in {side, "torch", "tf"}:
        require_same_state(replay(replace(plan, side=other), live.order).state(), live.state())


def test_processes_are_replayed():
    live = run_processes(PLAN)
    assert len(live.order) == 2 * 3 * PLAN.rounds
    for side in SIDES:
        require_same_state(replay(replace(PLAN, side=side), live.order).state(), live.state())


@pytest.mark.slow
@pytest.mark.parametrize("side", ["torch", "tf"])
def test_processes_of_a_framework_are_replayed(side):
    plan = replace(PLAN, side=side, config=replace(CONFIG, workers=2))
    live = run_processes(plan)
    for other in SIDES:
        require_same_state(replay(replace(plan, side=other), live.order).state(), live.state())


def test_continuous_actions_are_clipped_for_the_environment_alone():
    config = A3CConfig(3, 1, 2.0, True, (5,), workers=2, log_std=1.5)
    plan = Plan("torch", config, "Pendulum-v1", seed=3, steps=4, rounds=3)
    live = run_threads(plan)
    require_same_state(replay(replace(plan, side="tf"), live.order).state(), live.state())
    collector = plan.collectors()[0]
    actions = collector.collect(live.workers[0])["action"]
    collector.close()
    assert np.abs(actions).max() > 2.0, "what is stored is what was drawn"


def test_workers_see_different_episodes():
    collectors = PLAN.collectors()
    first = [collector.observation for collector in collectors]
    uniforms = [collector.collect(PLAN.make_learner().workers[0]) for collector in collectors]
    for collector in collectors:
        collector.close()
    for i in range(3):
        for j in range(i):
            assert not np.array_equal(first[i], first[j])
            assert not np.array_equal(uniforms[i]["observation"], uniforms[j]["observation"])


def test_a_failing_thread_is_named_and_stops_the_others():
    learner = PLAN.make_learner()
    push = learner.push

    def failing(worker, gradients):
        if worker == 1 and len(learner.order) > 6:
            raise ValueError("no more")
        push(worker, gradients)

    learner.push = failing
    with pytest.raises(RuntimeError, match="worker 1 failed: no more"):
        run_threads(replace(PLAN, rounds=1000), learner)
    assert len(learner.order) < 6000


def test_a_failing_process_is_named():
    plan = replace(PLAN, config=replace(CONFIG, observation_size=5, workers=1))
    with pytest.raises(RuntimeError, match=r"worker 0 failed: ConfigError: .*size=5, not 4"):
        run_processes(plan)


@pytest.mark.parametrize(
    ("order", "error", "match"),
    [
        (order_of("0>"), ConfigError, r"order\[0\]: push of worker 0, which has not pulled"),
        (order_of("0<", "1<", "0<"), ConfigError, r"order\[2\]: pull of worker 0"),
        (order_of("0<", "0>", "0>"), ConfigError, r"order\[2\]: push of worker 0"),
        (order_of("0<", "7<"), ConfigError, r"order\[1\]: worker=7: must be in \[0, 3\)"),
        (np.array([[0, 2]]), ConfigError, r"order\[0\]: event=2"),
        (np.array([0, 1]), ShapeError, r"order has shape \[2\]"),
        (np.array([[0.0, 0.0]]), DtypeError, "order is float64"),
    ],
)
def test_illegal_orders_are_refused(order, error, match):
    with pytest.raises(error, match=match):
        replay(PLAN, order)


def test_drawn_orders_are_legal_and_interleave():
    order = require_order(drawn_order(np.random.default_rng(0), 3, 60), 3)
    held, most = set(), 0
    for worker, event in order.tolist():
        held ^= {worker}
        most = max(most, len(held))
        assert (event == PULL) == (worker in held)
    assert most == 3
