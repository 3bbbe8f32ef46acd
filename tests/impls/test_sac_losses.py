"""Losses of soft actor-critic: values by hand, limits, symmetries, directions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from impls.sac_losses.spec import COMPONENT
from tests.support.functions import (
    SIDES,
    Functions,
    assert_reference_slope,
    assert_traceable,
    same,
)

rows = arrays(np.float64, 4, elements=st.floats(-10, 10, width=32))
alphas = st.floats(0, 2)
FIRST_CASES = {check.name: check for check in reversed(COMPONENT.checks)}


@pytest.fixture(scope="module", params=SIDES)
def losses(request):
    return Functions("sac_losses", request.param)


def test_by_hand(losses):
    found = losses(
        "soft_target", [1.0, 1.0], [0.5, 0.0], [4.0, 9.0], [6.0, 9.0], [-2.0, 9.0], alpha=1.0
    )
    same(found, [1.0 + 0.5 * (4.0 + 2.0), 1.0])
    same(losses("soft_critic_loss", [1.0, 2.0], [3.0, 4.0], [1.0, 4.0]), (2.0 + 2.0) / 2)
    same(
        losses("soft_actor_loss", [-1.0, 2.0], [3.0, 5.0], [4.0, 4.0], alpha=0.5), (-3.5 - 3.0) / 2
    )
    same(losses("temperature_loss", np.log(0.5), [1.0, 4.0], target_entropy=-2.0), -0.5 * 0.5)


@settings(max_examples=20)
@given(r=rows, q1=rows, q2=rows, log_prob=rows, alpha=alphas)
def test_the_target_in_its_limits(losses, r, q1, q2, log_prob, alpha):
    discount = np.array([0.0, 0.5, 0.99, 1.0])
    hard = r + discount * np.minimum(q1, q2)
    same(losses("soft_target", r, discount, q1, q2, log_prob, alpha=0.0), hard)
    same(losses("soft_target", r, discount, q1, q2, np.zeros(4), alpha=alpha), hard)
    soft = losses("soft_target", r, discount, q1, q2, log_prob, alpha=alpha)
    same(soft - hard, -alpha * discount * log_prob)
    same(losses("soft_target", r, discount, q2, q1, log_prob, alpha=alpha), soft)


@settings(max_examples=20)
@given(q1=rows, q2=rows, target=rows)
def test_the_critics_loss_is_half_of_the_plain_one(losses, q1, q2, target):
    plain = Functions("losses", losses.side)
    for reduction in ("mean", "sum", "none"):
        found = losses("soft_critic_loss", q1, q2, target, reduction=reduction)
        same(2.0 * found, plain("twin_critic_loss", q1, q2, target, reduction=reduction))


@settings(max_examples=20)
@given(log_prob=rows, q1=rows, q2=rows, alpha=alphas)
def test_the_actors_loss(losses, log_prob, q1, q2, alpha):
    each = losses("soft_actor_loss", log_prob, q1, q2, alpha=alpha, reduction="none")
    same(losses("soft_actor_loss", log_prob, q2, q1, alpha=alpha, reduction="none"), each)
    same(losses("soft_actor_loss", log_prob, q1, q2, alpha=alpha), np.mean(each))
    inputs = {"log_prob": log_prob, "q1": q1, "q2": q2}
    slopes = losses.gradients("soft_actor_loss", inputs, *inputs, alpha=alpha)
    same(slopes["log_prob"], np.full(4, alpha / 4))
    same(slopes["q1"] + slopes["q2"], np.full(4, -0.25))
    assert np.all((slopes["q1"] == 0.0) | (q1 <= q2))


@settings(max_examples=20)
@given(log_alpha=st.floats(-5, 1, width=32), log_prob=rows, target=st.floats(-4, 4, width=32))
def test_the_temperature_moves_the_entropy_to_its_target(losses, log_alpha, log_prob, target):
    log_alpha = np.asarray(float(log_alpha))
    loss = losses("temperature_loss", log_alpha, log_prob, target_entropy=float(target))
    inputs = {"log_alpha": log_alpha, "log_prob": log_prob}
    slope = losses.gradients("temperature_loss", inputs, "log_alpha", target_entropy=float(target))[
        "log_alpha"
    ]
    same(slope, loss)  # d exp(x) / dx is exp(x)
    entropy = -np.mean(log_prob)
    if abs(entropy - target) > 1e-6:
        assert (slope < 0.0) == (entropy < target), "too little entropy: descent raises alpha"


def test_alpha_may_be_a_number_or_a_tensor(losses):
    arguments = np.random.default_rng(1).normal(size=(5, 13))
    for alpha in (0.25, np.asarray(0.25)):
        same(
            losses("soft_target", *arguments, alpha=alpha),
            losses("soft_target", *arguments, alpha=0.25),
        )
        found = losses("soft_actor_loss", *arguments[:3], alpha=alpha)
        same(found, losses("soft_actor_loss", *arguments[:3], alpha=0.25))


SMOOTH = [c for c in COMPONENT.checks if c.gradients and c.case in ("batch", "single-row", "sum")]


@pytest.mark.parametrize("check", SMOOTH, ids=lambda c: f"{c.name}-{c.case}")
def test_reference_gradient_is_the_slope(check):
    assert_reference_slope("sac_losses", check)


@pytest.mark.parametrize("name", FIRST_CASES)
def test_torch_traces_without_a_graph_break(name):
    assert_traceable("sac_losses", FIRST_CASES[name])


def test_a_number_does_not_round_to_float32_on_the_way():
    """``stop_gradient(0.1)`` is a float32 tensor."""
    import tensorflow as tf

    impl = Functions("sac_losses", "tf").impl
    one = tf.ones(1, tf.float64)
    assert float(impl.soft_actor_loss(one, 0.0 * one, 0.0 * one, alpha=0.1)) == 0.1


def test_every_function_of_the_contract_is_checked():
    assert set(FIRST_CASES) == {function.__name__ for function in COMPONENT.contract}
