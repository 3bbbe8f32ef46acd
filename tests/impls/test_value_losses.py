"""Deep Q-learning: values by hand, double against plain, weights, ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from impls.value_losses.spec import COMPONENT
from tests.support.functions import (
    SIDES,
    Functions,
    assert_reference_slope,
    assert_traceable,
    same,
)

numbers = st.floats(-10, 10, width=32)
rows, tables = (arrays(np.float64, shape, elements=numbers) for shape in (4, (4, 3)))
indices = arrays(np.int64, 4, elements=st.integers(0, 2))
DISCOUNT = np.array([0.0, 0.5, 0.99, 1.0])
FIRST_CASES = {check.name: check for check in reversed(COMPONENT.checks)}


@pytest.fixture(scope="module", params=SIDES)
def losses(request):
    return Functions("value_losses", request.param)


def test_by_hand(losses):
    q = np.array([[1.0, 5.0, 2.0], [7.0, 0.0, 7.0]])
    r, discount = [10.0, 10.0], [0.5, 0.0]
    same(losses("chosen_value", q, [2, 0]), [2.0, 7.0])
    same(losses("dqn_target", r, discount, q), [12.5, 10.0])
    selector = np.array([[3.0, 1.0, 2.0], [0.0, 0.0, 0.0]])
    same(losses("double_dqn_target", r, discount, q, selector), [10.5, 10.0])
    same(losses("q_learning_loss", q, [2, 0], [2.5, 4.0]), (0.125 + 2.5) / 2)
    weighted = losses("q_learning_loss", q, [2, 0], [2.5, 4.0], weight=np.array([1.0, 0.5]))
    same(weighted, (0.125 + 1.25) / 2)


@settings(max_examples=20)
@given(r=rows, q=tables, selector=tables)
def test_double_dqn_never_exceeds_dqn(losses, r, q, selector):
    plain = losses("dqn_target", r, DISCOUNT, q)
    same(losses("double_dqn_target", r, DISCOUNT, q, q), plain)
    double = losses("double_dqn_target", r, DISCOUNT, q, selector)
    assert np.all(double <= plain + 1e-12 * np.maximum(1.0, np.abs(plain)))
    best = selector.argmax(axis=1)
    same(double, r + DISCOUNT * losses("chosen_value", q, best))
    same(losses("dqn_target", r, np.zeros(4), q), r)


def test_among_equal_selectors_the_lowest_action_is_valued(losses):
    q = np.arange(12.0).reshape(4, 3)
    selector = np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 2.0], [3.0, 0.0, 3.0], [0.0, 0.0, 1.0]])
    same(losses("double_dqn_target", np.zeros(4), np.ones(4), q, selector), [0.0, 4.0, 6.0, 11.0])


@settings(max_examples=20)
@given(q=tables, action=indices, target=rows, delta=st.floats(0.1, 5))
def test_the_loss_is_the_huber_loss_of_the_chosen_values(losses, q, action, target, delta):
    chosen = losses("chosen_value", q, action)
    huber = Functions("losses", losses.side)("huber_loss", chosen, target, delta=delta)
    same(losses("q_learning_loss", q, action, target, delta=delta), huber)
    ones = {"weight": np.ones(4), "delta": delta}
    same(losses("q_learning_loss", q, action, target, **ones), huber)


@settings(max_examples=20)
@given(q=tables, action=indices, target=rows, weight=rows)
def test_weights_scale_each_row(losses, q, action, target, weight):
    each = losses("q_learning_loss", q, action, target, reduction="none")
    found = losses("q_learning_loss", q, action, target, weight=weight, reduction="none")
    same(found, weight * each)
    same(losses("q_learning_loss", q, action, target, weight=weight), np.mean(weight * each))


@settings(max_examples=15)
@given(q=tables, action=indices, target=rows, order=st.permutations(range(3)))
def test_only_the_chosen_value_learns_and_actions_have_no_order(losses, q, action, target, order):
    inputs = {"q_tm1": q, "a_tm1": action, "target": target}
    slope = losses.gradients("q_learning_loss", inputs, "q_tm1")["q_tm1"]
    error = q[np.arange(4), action] - target
    wanted = np.zeros((4, 3))
    wanted[np.arange(4), action] = np.clip(error, -1.0, 1.0) / 4
    same(slope, wanted)
    moved = np.argsort(order)[action]
    same(
        losses("q_learning_loss", q[:, order], moved, target),
        losses("q_learning_loss", *inputs.values()),
    )


SMOOTH = [c for c in COMPONENT.checks if c.gradients and c.case in ("batch", "weighted", "sum")]


@pytest.mark.parametrize("check", SMOOTH, ids=lambda c: f"{c.name}-{c.case}")
def test_reference_gradient_is_the_slope(check):
    assert_reference_slope("value_losses", check)


@pytest.mark.parametrize("name", FIRST_CASES)
def test_torch_traces_without_a_graph_break(name):
    assert_traceable("value_losses", FIRST_CASES[name])


def test_unknown_batch_size_can_be_traced():
    import tensorflow as tf

    impl = Functions("value_losses", "tf").impl
    spec = [tf.TensorSpec([None, 3], tf.float64)] + [tf.TensorSpec([None], tf.float64)] * 2
    traced = tf.function(lambda q, r, d: impl.dqn_target(r, d, q), input_signature=spec)
    same(traced(np.eye(3), np.zeros(3), np.ones(3)).numpy(), np.ones(3))


def test_every_function_of_the_contract_is_checked():
    assert set(FIRST_CASES) == {function.__name__ for function in COMPONENT.contract}
