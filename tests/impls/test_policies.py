"""Policies: probabilities that sum to one, densities that integrate to one, exact tails."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from impls.policies.spec import COMPONENT
from tests.support.functions import (
    SIDES,
    Functions,
    assert_reference_slope,
    assert_traceable,
    same,
)

logit_rows = arrays(np.float64, (3, 4), elements=st.floats(-30, 30, width=32))
rows = arrays(np.float64, (3, 2), elements=st.floats(-3, 3, width=32))
spreads = arrays(np.float64, (3, 2), elements=st.floats(-2, 2, width=32))
FIRST_CASES = {check.name: check for check in reversed(COMPONENT.checks)}


@pytest.fixture(scope="module", params=SIDES)
def policies(request):
    return Functions("policies", request.param)


def all_actions(policies, logits):
    """[A, B]: the log-probability of every action."""
    batch, count = logits.shape
    return np.stack(
        [policies("categorical_log_prob", logits, np.full(batch, a)) for a in range(count)]
    )


@settings(max_examples=20)
@given(logits=logit_rows, shift=st.floats(-100, 100, width=32))
def test_probabilities_sum_to_one_wherever_the_logits_lie(policies, logits, shift):
    log_p = all_actions(policies, logits)
    same(np.exp(log_p).sum(axis=0), np.ones(3))
    # the shift itself rounds: compare probabilities, which are at most 1
    same(np.exp(all_actions(policies, logits + shift)), np.exp(log_p))
    same(policies("categorical_entropy", logits), -np.sum(np.exp(log_p) * log_p, axis=0))


@settings(max_examples=20)
@given(logits=logit_rows, order=st.permutations(range(4)))
def test_entropy_lies_between_certainty_and_chance(policies, logits, order):
    entropy = policies("categorical_entropy", logits)
    assert (entropy >= 0.0).all()
    assert (entropy <= np.log(4.0) + 1e-12).all()
    same(policies("categorical_entropy", logits[:, order]), entropy)
    same(policies("categorical_entropy", 0.0 * logits), np.full(3, np.log(4.0)))


def test_an_even_grid_of_draws_counts_the_probabilities(policies):
    logits, count = np.array([0.0, 1.5, -1.0, 0.5, -30.0]), 4000
    uniform = (np.arange(count) + 0.5) / count
    actions = policies("categorical_sample", np.tile(logits, (count, 1)), uniform)
    shares = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    assert np.all(np.abs(np.bincount(actions, minlength=5) - count * shares) <= 1.0)
    assert np.all(np.diff(actions) >= 0), "a larger draw never takes an earlier action"


@pytest.mark.parametrize("draw", [0.0, float(np.nextafter(1.0, 0.0))])
def test_no_draw_reaches_a_masked_action(policies, draw):
    logits = np.array([[-1e9, 0.3, -0.2, -1e9], [-1e9, -1e9, 0.7, -1e9]])
    found = policies("categorical_sample", logits, np.full(2, draw))
    assert found.tolist() == ([1, 2] if draw == 0.0 else [2, 2])


@settings(max_examples=20)
@given(logits=logit_rows)
def test_the_mode_is_the_most_probable_action(policies, logits):
    mode = policies("categorical_mode", logits)
    best = policies("categorical_log_prob", logits, mode)
    assert (best >= all_actions(policies, logits)).all()
    assert np.array_equal(mode, logits.argmax(axis=1)), "the lowest of equal ones"


def test_improbable_actions_keep_their_gradient(policies):
    inputs = {"logits": np.array([[0.0, -40.0]]), "action": np.array([1])}
    same(policies("categorical_log_prob", *inputs.values()), [-40.0])
    slope = policies.gradients("categorical_log_prob", inputs, "logits")["logits"]
    same(slope, [[-1.0, 1.0]])


@settings(max_examples=20)
@given(mean=rows, log_std=spreads, noise=rows)
def test_a_sample_has_the_density_of_its_noise(policies, mean, log_std, noise):
    sample = policies("gaussian_sample", mean, log_std, noise)
    normal = np.sum(-(noise**2) / 2 - np.log(2 * np.pi) / 2 - log_std, axis=1)
    found = policies("gaussian_log_prob", mean, log_std, sample)
    # (sample - mean) / std rounds in units of the mean over the deviation
    assert np.all(np.abs(found - normal) <= 1e-12 * (1 + np.abs(mean) / np.exp(log_std)).max() * 10)
    parts = [
        policies("gaussian_log_prob", *(a[:, [i]] for a in (mean, log_std, sample)))
        for i in range(2)
    ]
    same(found, sum(parts))


@settings(max_examples=20)
@given(mean=rows, log_std=arrays(np.float64, 2, elements=st.floats(-2, 2, width=32)), action=rows)
def test_a_shared_deviation_is_one_per_row(policies, mean, log_std, action):
    spread = np.tile(log_std, (3, 1))
    for name in ("gaussian_sample", "gaussian_log_prob"):
        same(policies(name, mean, log_std, action), policies(name, mean, spread, action))
    same(policies("gaussian_entropy", log_std), policies("gaussian_entropy", spread)[0])


def grid(policies, name, mean, log_std, **bounds):
    """Log-density on a fine grid of pre-actions, one dimension, and the grid."""
    u = np.linspace(mean - 12 * np.exp(log_std), mean + 12 * np.exp(log_std), 2001)
    columns = (np.full((u.size, 1), mean), np.full((u.size, 1), log_std), u[:, None])
    return policies(name, *columns, **bounds), u


@pytest.mark.parametrize(("mean", "log_std"), [(0.0, 0.0), (1.5, -1.0), (-2.0, 0.5)])
def test_densities_integrate_to_one_and_to_the_entropy(policies, mean, log_std):
    log_p, u = grid(policies, "gaussian_log_prob", mean, log_std)
    step = u[1] - u[0]  # the trapezoidal rule is exact for what decays at both ends
    same(np.sum(np.exp(log_p)) * step, 1.0)
    entropy = policies("gaussian_entropy", np.array([log_std]))
    same(-np.sum(np.exp(log_p) * log_p) * step, entropy)
    bounds = {"low": -1.0, "high": 3.0}
    log_p, u = grid(policies, "tanh_gaussian_log_prob", mean, log_std, **bounds)
    slope = 2.0 / np.cosh(u) ** 2
    same(np.sum(np.exp(log_p) * slope) * step, 1.0)


@settings(max_examples=20)
@given(mean=rows, log_std=spreads, noise=rows, high=st.floats(0.5, 8, width=32))
def test_squashing_a_sample_is_squashing_the_gaussian(policies, mean, log_std, noise, high):
    action, log_prob = policies("tanh_gaussian_sample", mean, log_std, noise, low=-1.0, high=high)
    u = policies("gaussian_sample", mean, log_std, noise)
    same(action, policies("tanh_gaussian_mode", u, low=-1.0, high=high))
    assert ((action >= -1.0 - 1e-12) & (action <= high + 1e-12)).all()
    density = policies("tanh_gaussian_log_prob", mean, log_std, u, low=-1.0, high=high)
    assert np.all(np.abs(log_prob - density) <= 1e-10)
    _, wider = policies(
        "tanh_gaussian_sample", mean, log_std, noise, low=-4.0, high=4.0 * float(high)
    )
    same(wider, log_prob - 2 * np.log(4.0))


@pytest.mark.parametrize("distance", [20.0, 1000.0, 1e6])
def test_far_out_everything_stays_finite(policies, distance):
    mean = np.array([[distance, -distance]])
    inputs = {"mean": mean, "log_std": np.zeros((1, 2)), "noise": np.array([[0.5, -0.5]])}
    action, log_prob = policies("tanh_gaussian_sample", *inputs.values())
    same(action, np.sign(mean))
    normal = 2 * (-0.125 - np.log(2 * np.pi) / 2)
    same(log_prob, [normal - 2 * 2 * (np.log(2.0) - distance - 0.5)])
    slopes = policies.gradients("tanh_gaussian_sample", inputs, "mean", "log_std")
    same(slopes["mean"], 2.0 * np.sign(mean))
    assert np.isfinite(slopes["log_std"]).all()


def test_the_smallest_deviation_keeps_its_density(policies):
    """exp(-20) against a mean of 1: the sum of both has no room for the noise in float32."""
    noise = np.array([[2.0, -1.0]])
    mean, log_std = np.ones((1, 2)), np.full((1, 2), -20.0)
    _, log_prob = policies("tanh_gaussian_sample", mean, log_std, noise)
    slope = np.log(1 - np.tanh(1.0) ** 2)
    assert abs(log_prob[0] - (-2.5 + 40.0 - np.log(2 * np.pi) - 2 * slope)) < 1e-7


def test_a_likelihood_ratio_gradient_takes_the_sample_as_data(policies):
    """Through a sample that is not detached, the mean gets no gradient at all."""
    inputs = {"mean": np.array([[0.5]]), "log_std": np.array([[-0.5]])}
    action = policies("gaussian_sample", *inputs.values(), np.array([[1.2]]))
    held = policies.gradients("gaussian_log_prob", {**inputs, "action": action}, "mean", "action")
    assert abs(held["mean"][0, 0]) > 1.0
    same(held["mean"] + held["action"], np.zeros((1, 1)))


SMOOTH = [
    check
    for check in COMPONENT.checks
    if check.gradients and check.case in ("batch", "single-row", "shared-in-sequence", "bounds")
]


@pytest.mark.parametrize("check", SMOOTH, ids=lambda c: f"{c.name}-{c.case}")
def test_reference_gradient_is_the_slope(check):
    assert_reference_slope("policies", check)


@pytest.mark.parametrize("name", FIRST_CASES)
def test_torch_traces_without_a_graph_break(name):
    assert_traceable("policies", FIRST_CASES[name])


def test_tracing_with_an_unknown_batch():
    import tensorflow as tf

    impl = Functions("policies", "tf").impl
    table, row = tf.TensorSpec([None, 5], tf.float64), tf.TensorSpec([None], tf.float64)
    sample = tf.function(impl.categorical_sample, input_signature=[table, row])
    logits, uniform = np.zeros((13, 5)), (np.arange(13) + 0.5) / 13
    assert np.array_equal(sample(logits, uniform), impl.categorical_sample(logits, uniform))
    index = tf.TensorSpec([None], tf.int64)
    density = tf.function(impl.categorical_log_prob, input_signature=[table, index])
    same(density(logits, np.zeros(13, np.int64)).numpy(), np.full(13, -np.log(5.0)))


def test_every_function_of_the_contract_is_checked():
    assert set(FIRST_CASES) == {function.__name__ for function in COMPONENT.contract}
