"""Policy losses: values by hand, bounds, limits, and what they are made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from impls.policy_losses.spec import COMPONENT
from tests.support.functions import (
    SIDES,
    Functions,
    assert_reference_slope,
    assert_traceable,
    same,
)

values = arrays(np.float64, (2, 3), elements=st.floats(-8, 8, width=32))
clips = st.floats(0.01, 0.9)
ARGUMENTS = {
    "policy_gradient_loss": 2,
    "entropy_loss": 1,
    "value_loss": 2,
    "clipped_value_loss": 3,
    "clipped_surrogate_loss": 3,
}
FIRST_CASES = {check.name: check for check in reversed(COMPONENT.checks)}


@pytest.fixture(scope="module", params=SIDES)
def losses(request):
    return Functions("policy_losses", request.param)


def rows(count, *shape):
    return np.random.default_rng(1).normal(size=(count, *shape))


def test_by_hand(losses):
    each = {"reduction": "none"}
    same(losses("policy_gradient_loss", [-1.0, -2.0], [3.0, -4.0], **each), [3.0, -8.0])
    same(losses("entropy_loss", [1.0, 3.0], coefficient=0.1), -0.2)
    same(losses("value_loss", [1.0, 5.0], [4.0, 5.0], **each), [4.5, 0.0])
    # unmoved, clipped towards the target, clipped away from it
    found = losses(
        "clipped_value_loss", [1.0, 2.0, 2.0], [1.0, 1.0, 1.0], [0.0, 3.0, 0.0], clip=0.5, **each
    )
    same(found, [0.5, 0.5 * 1.5**2, 0.5 * 2.0**2])
    # ratios 2 and 1/2, gains and losses: clipped at 1.2 where it pays, kept where it costs
    log_ratio = np.log([2.0, 2.0, 0.5, 0.5])
    found = losses("clipped_surrogate_loss", log_ratio, np.zeros(4), [1.0, -1.0, 1.0, -1.0], **each)
    same(found, [-1.2, 2.0, -0.5, 0.8])


@pytest.mark.parametrize("name", ARGUMENTS)
def test_reductions_are_those_of_the_steps(losses, name):
    arguments = rows(ARGUMENTS[name], 7, 13)
    each = losses(name, *arguments, reduction="none")
    assert each.shape == (7, 13)
    same(losses(name, *arguments), np.mean(each))
    same(losses(name, *arguments, reduction="sum"), np.sum(each))
    flat = arguments.reshape(-1, 7 * 13)
    same(losses(name, *flat, reduction="none"), each.ravel())


@settings(max_examples=20)
@given(log_prob=values, old=values, advantage=values, clip=clips)
def test_the_surrogate_is_a_pessimistic_bound(losses, log_prob, old, advantage, clip):
    each = losses("clipped_surrogate_loss", log_prob, old, advantage, clip=clip, reduction="none")
    ratio = np.exp(log_prob - old)
    slack = 1e-12 * np.maximum(1.0, np.abs(ratio * advantage))
    assert np.all(each >= -ratio * advantage - slack)
    inside = np.abs(ratio - 1.0) < clip
    same(np.where(inside, each, 0.0), np.where(inside, -ratio * advantage, 0.0))


@settings(max_examples=15)
@given(log_prob=values, advantage=values, clip=clips)
def test_the_first_step_is_the_policy_gradient(losses, log_prob, advantage, clip):
    """Old and new policy equal: the value is minus the advantage, the slope is REINFORCE's."""
    inputs = {"log_prob": log_prob, "old_log_prob": log_prob, "advantage": advantage}
    same(losses("clipped_surrogate_loss", *inputs.values(), clip=clip), -np.mean(advantage))
    slope = losses.gradients("clipped_surrogate_loss", inputs, "log_prob", clip=clip)
    plain = {"log_prob": log_prob, "advantage": advantage}
    wanted = losses.gradients("policy_gradient_loss", plain, "log_prob")
    same(slope["log_prob"], wanted["log_prob"])


def test_a_ratio_that_left_with_the_advantage_has_no_gradient(losses):
    inputs = {
        "log_prob": np.log([1.5, 1.5, 0.5, 0.5]),
        "old_log_prob": np.zeros(4),
        "advantage": np.array([1.0, -1.0, 1.0, -1.0]),
    }
    slope = losses.gradients("clipped_surrogate_loss", inputs, "log_prob")["log_prob"]
    same(4 * slope, [0.0, 1.5, -0.5, 0.0])


@settings(max_examples=20)
@given(v_tm1=values, old=values, target=values, clip=st.floats(0.01, 20))
def test_clipping_never_hides_an_error(losses, v_tm1, old, target, clip):
    options = {"clip": clip, "reduction": "none"}
    each = losses("clipped_value_loss", v_tm1, old, target, **options)
    plain = losses("value_loss", v_tm1, target, reduction="none")
    assert np.all(each >= plain - 1e-12 * np.maximum(1.0, plain))
    near = np.abs(v_tm1 - old) < clip
    same(np.where(near, each, 0.0), np.where(near, plain, 0.0))
    # nothing but differences counts, and both directions alike
    same(losses("clipped_value_loss", -v_tm1, -old, -target, **options), each)


@settings(max_examples=15)
@given(entropy=values, coefficient=st.floats(0, 2))
def test_the_bonus_is_linear_and_negative(losses, entropy, coefficient):
    same(losses("entropy_loss", entropy, coefficient=coefficient), -coefficient * np.mean(entropy))
    slope = losses.gradients("entropy_loss", {"entropy": entropy}, "entropy", coefficient=1.0)
    same(slope["entropy"], np.full(entropy.shape, -1.0 / entropy.size))


def test_a_step_down_the_loss_makes_good_actions_likelier(losses):
    inputs = {"log_prob": np.full(2, -1.0), "advantage": np.array([2.0, -3.0])}
    slope = losses.gradients("policy_gradient_loss", inputs, "log_prob")["log_prob"]
    assert slope[0] < 0.0 < slope[1]


SMOOTH = [c for c in COMPONENT.checks if c.case in ("batch", "sequence", "single-row", "sum")]


@pytest.mark.parametrize("check", SMOOTH, ids=lambda c: f"{c.name}-{c.case}")
def test_reference_gradient_is_the_slope(check):
    assert_reference_slope("policy_losses", check)


@pytest.mark.parametrize("name", FIRST_CASES)
def test_torch_traces_without_a_graph_break(name):
    assert_traceable("policy_losses", FIRST_CASES[name])


def test_unknown_sizes_can_be_traced():
    import tensorflow as tf

    impl = Functions("policy_losses", "tf").impl
    for spec in (tf.TensorSpec([None], tf.float64), tf.TensorSpec(None, tf.float64)):
        traced = tf.function(impl.clipped_surrogate_loss, input_signature=[spec] * 3)
        same(traced(np.zeros(5), np.zeros(5), np.ones(5)).numpy(), -1.0)


def test_every_function_of_the_contract_is_checked():
    assert set(FIRST_CASES) == {function.__name__ for function in COMPONENT.contract}
    assert set(FIRST_CASES) == set(ARGUMENTS)
