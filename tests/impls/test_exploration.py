"""Exploration: bounds, closed forms and limits that need no second implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from impls.exploration.spec import COMPONENT
from parity.backends import get_backend, to_numpy
from parity.compare import compare_arrays
from parity.runner import load_siblings
from parity.tolerance import default_tolerance

SIDES = ("torch", "tf", "reference")
rows = arrays(np.float64, (5, 2), elements=st.floats(-10, 10, width=32))
positive = st.floats(0, 8, width=32)


@pytest.fixture(scope="module", params=SIDES)
def explore(request):
    return Explore(request.param)


class Explore:
    """The float64 functions of one side, on arrays."""

    def __init__(self, side: str) -> None:
        self.impl, self.backend = load_siblings("impls.exploration")[side], get_backend(side)

    def __call__(self, name: str, *arguments: Any, **options: Any) -> Any:
        tensors = [self.backend.tensor(np.asarray(a)) for a in arguments]
        found = getattr(self.impl, name)(*tensors, **options)
        return tuple(map(to_numpy, found)) if isinstance(found, tuple) else to_numpy(found)


def same(left, right):
    found = compare_arrays(left, np.asarray(right), tolerance=default_tolerance("float64"))
    assert found.size > 0
    assert found.agrees, found


@settings(max_examples=20)
@given(action=rows, noise=rows, sigma=positive, low=positive, high=positive)
def test_noisy_actions_stay_in_bounds(explore, action, noise, sigma, low, high):
    found = explore("gaussian_action", action, noise, sigma=sigma, low=-low, high=high)
    assert (found >= -low).all()
    assert (found <= high).all()
    quiet = explore("gaussian_action", action, noise, sigma=0.0, low=-low, high=high)
    same(quiet, np.clip(action, -low, high))


@settings(max_examples=20)
@given(action=rows, noise=rows, sigma=positive, low=positive, high=positive)
def test_mirrored_actions_get_mirrored_noise(explore, action, noise, sigma, low, high):
    found = explore("gaussian_action", action, noise, sigma=sigma, low=-low, high=high)
    mirrored = explore("gaussian_action", -action, -noise, sigma=sigma, low=-high, high=low)
    same(found, -mirrored)


@settings(max_examples=20)
@given(action=rows, noise=rows, sigma=positive, limit=positive)
def test_smoothing_moves_an_action_by_the_limit_at_most(explore, action, noise, sigma, limit):
    wide = {"low": -1000.0, "high": 1000.0}
    found = explore("smoothed_target_action", action, noise, sigma=sigma, noise_clip=limit, **wide)
    assert (np.abs(found - action) <= limit + 1e-9).all()
    free = explore("smoothed_target_action", action, noise, sigma=sigma, noise_clip=1e6, **wide)
    same(free, explore("gaussian_action", action, noise, sigma=sigma, **wide))


@settings(max_examples=20)
@given(x=rows, theta=st.floats(0, 1), mu=st.floats(-3, 3), dt=st.floats(0.01, 1))
def test_without_noise_the_process_decays_geometrically(explore, x, theta, mu, dt):
    steps, batch = 6, len(x)
    noise, never = np.zeros((steps, batch, 2)), np.zeros((steps, batch), np.bool_)
    process = {"theta": theta, "sigma": 0.5, "mu": mu, "dt": dt}
    found, state = explore("ou_sequence", x, noise, never, never, **process)
    decay = (1 - theta * dt) ** np.arange(1, steps + 1)[:, None, None]
    same(found, mu + (x - mu) * decay)
    same(state, found[-1])


def test_noise_grows_with_the_root_of_the_time_step(explore):
    rest = np.zeros((5, 2))
    noise = np.random.default_rng(1).normal(size=(5, 2))
    process = {"theta": 0.3, "sigma": 0.5, "mu": 0.0}
    quarter, whole = (explore("ou_step", rest, noise, **process, dt=dt) for dt in (0.25, 1.0))
    same(2 * quarter, whole)


def process_inputs(seed=2):
    rng = np.random.default_rng(seed)
    flags = rng.random((2, 7, 5)) < 0.3
    return rng.normal(size=(5, 2)), rng.normal(size=(7, 5, 2)), *flags


PROCESS = {"theta": 0.3, "sigma": 0.5, "mu": (1.0, -2.0), "dt": 0.1}


def test_a_sequence_is_its_steps(explore):
    x, noise, terminated, truncated = process_inputs()
    found, state = explore("ou_sequence", x, noise, terminated, truncated, **PROCESS)
    for t in range(7):
        step = explore("ou_step", x, noise[t], **PROCESS)
        same(found[t], step)
        x = np.where((terminated | truncated)[t][:, None], np.array(PROCESS["mu"]), step)
    same(state, x)


def test_a_sequence_continues_from_the_state_it_returned(explore):
    x, noise, terminated, truncated = process_inputs()
    whole, end = explore("ou_sequence", x, noise, terminated, truncated, **PROCESS)
    first, state = explore("ou_sequence", x, noise[:3], terminated[:3], truncated[:3], **PROCESS)
    second, last = explore(
        "ou_sequence", state, noise[3:], terminated[3:], truncated[3:], **PROCESS
    )
    same(np.concatenate([first, second]), whole)
    same(last, end)


@settings(max_examples=20)
@given(step=st.integers(0, 2000), start=st.floats(0, 2), end=st.floats(0, 2))
def test_linear_decay_stays_between_its_ends(explore, step, start, end):
    options = {"start": start, "end": end, "decay_steps": 1000}
    found = explore("linear_decay", np.array([0, step, 1000, 5000]), **options)
    same(found[[0, 2, 3]], np.array([start, end, end]))
    assert min(start, end) - 1e-12 <= found[1] <= max(start, end) + 1e-12


def test_exponential_decay_multiplies_until_the_floor(explore):
    found = explore("exponential_decay", np.arange(60), start=2.0, end=0.25, decay=0.9)
    same(found[1:], np.maximum(0.9 * found[:-1], 0.25))
    same(found[:1], np.array([2.0]))


def test_a_python_step_is_the_same_as_a_tensor(explore):
    options = {"start": 1.0, "end": 0.1, "decay_steps": 1000}
    assert float(explore.impl.linear_decay(7, **options)) == explore(
        "linear_decay", np.array(7), **options
    )


def test_greedy_actions_and_their_share(explore):
    rng = np.random.default_rng(4)
    q, uniform = rng.normal(size=(1000, 4)), (np.arange(1000) + 0.5) / 1000
    other = (q.argmax(axis=1) + 1) % 4
    found = explore("epsilon_greedy", q, uniform, other, epsilon=0.25)
    assert np.count_nonzero(found == other) == 250
    assert np.array_equal(found[250:], q.argmax(axis=1)[250:])


def test_ties_go_to_the_lowest_action(explore):
    q = np.array([[1.0, 2.0, 2.0], [3.0, 3.0, 3.0], [0.0, -1.0, 0.0]])
    found = explore("epsilon_greedy", q, np.ones(3), np.full(3, 9), epsilon=0.5)
    assert found.tolist() == [1, 0, 0]


def test_a_traced_step_follows_its_counter():
    import tensorflow as tf

    impl = load_siblings("impls.exploration")["tf"]
    counter = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def sigma():
        counter.assign_add(1)
        return impl.linear_decay(counter, start=1.0, end=0.0, decay_steps=4)

    assert [float(sigma()) for _ in range(5)] == [0.75, 0.5, 0.25, 0.0, 0.0]
    assert sigma.experimental_get_tracing_count() == 1


def test_every_function_of_the_contract_is_checked():
    checked = {check.name for check in COMPONENT.checks}
    assert checked == {function.__name__ for function in COMPONENT.contract}
