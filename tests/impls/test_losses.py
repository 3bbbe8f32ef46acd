"""Losses: identities that need no second implementation, stopped gradients, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import parity
from impls.errors import ShapeError
from impls.losses.spec import COMPONENT
from parity.backends import get_backend, to_numpy
from parity.component import Mutant, Side
from parity.runner import load_siblings, planted
from parity.tolerance import default_tolerance

SIDES = ("torch", "tf", "reference")
RUNS = [*((side, d) for side in SIDES[:2] for d in ("float32", "float64")), (SIDES[2], "float64")]
REDUCED = ("mse_loss", "huber_loss", "twin_critic_loss", "dpg_actor_loss")
ARGUMENTS = {
    "td_error": ("q_tm1", "target"),
    "mse_loss": ("q_tm1", "target"),
    "huber_loss": ("q_tm1", "target"),
    "twin_critic_loss": ("q1_tm1", "q2_tm1", "target"),
    "dpg_actor_loss": ("q_tm1",),
}
values = arrays(np.float64, 5, elements=st.floats(-100, 100, width=32))


@pytest.fixture(scope="module")
def siblings():
    return load_siblings("impls.losses")


class Losses:
    """The float64 losses of one side, on arrays."""

    def __init__(self, siblings, side):
        self.impl, self.backend = siblings[side], get_backend(side)

    def __call__(self, name, *arguments, **options):
        tensors = (self.backend.tensor(np.asarray(a, dtype=np.float64)) for a in arguments)
        return to_numpy(getattr(self.impl, name)(*tensors, **options))


@pytest.fixture(params=SIDES)
def losses(request, siblings):
    return Losses(siblings, request.param)


def same(left, right):
    """The two agree to the project's float64 tolerance."""
    parity.assert_parity(left={"value": left}, right={"value": right})


def rows(count, batch=13, seed=1):
    return np.random.default_rng(seed).normal(size=(count, batch))


def test_by_hand(losses):
    q, target = [1.0, 2.0, -3.0], [3.0, 2.0, 1.0]
    same(losses("td_error", q, target), [2.0, 0.0, 4.0])
    same(losses("mse_loss", q, target), 20.0 / 3)
    same(losses("huber_loss", q, target, reduction="none"), [1.5, 0.0, 3.5])
    same(losses("huber_loss", q, target, delta=3.0, reduction="none"), [2.0, 0.0, 7.5])
    same(losses("twin_critic_loss", q, target, [2.0, 2.0, 2.0]), (26.0 + 2.0) / 3)
    same(losses("dpg_actor_loss", [1.0, 2.0, -7.0], reduction="sum"), 4.0)
    same(losses("dpg_actor_loss", target), -2.0)


@pytest.mark.parametrize("name", REDUCED)
def test_mean_and_sum_are_those_of_the_rows(losses, name):
    arguments = rows(len(ARGUMENTS[name]))
    each = losses(name, *arguments, reduction="none")
    assert each.shape == (13,)
    same(losses(name, *arguments), np.mean(each))
    same(losses(name, *arguments, reduction="mean"), np.mean(each))
    same(losses(name, *arguments, reduction="sum"), np.sum(each))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_order_of_the_rows_moves_with_them(losses, name):
    arguments, order = rows(len(ARGUMENTS[name])), np.random.default_rng(2).permutation(13)
    options = {} if name == "td_error" else {"reduction": "none"}
    same(losses(name, *arguments[:, order], **options), losses(name, *arguments, **options)[order])


def test_twin_loss_is_one_loss_per_critic_and_symmetric(losses):
    q1, q2, target = rows(3)
    both = losses("twin_critic_loss", q1, q2, target)
    same(both, losses("mse_loss", q1, target) + losses("mse_loss", q2, target))
    same(both, losses("twin_critic_loss", q2, q1, target))
    same(losses("twin_critic_loss", q1, target, target), losses("mse_loss", q1, target))


def test_loss_of_the_error_is_the_squared_error(losses):
    q, target = rows(2)
    error = losses("td_error", q, target)
    same(losses("mse_loss", q, target, reduction="none"), error**2)
    same(losses("td_error", target, q), -error)


def test_huber_is_half_the_square_within_delta_and_linear_beyond(losses):
    q, target = rows(2)
    wide = 1.0 + np.abs(q - target).max()
    square = losses("mse_loss", q, target, reduction="none")
    same(losses("huber_loss", q, target, delta=wide, reduction="none"), square / 2)
    far = target + np.where(q > target, 10.0, -10.0)
    near = losses("huber_loss", far, target, delta=0.3, reduction="none")
    further = losses("huber_loss", 2 * far - target, target, delta=0.3, reduction="none")
    same(further - near, np.full(13, 0.3 * 10.0))


@pytest.mark.parametrize("delta", [0.1, 1.0, 2.5])
def test_huber_is_continuous_at_delta(losses, delta):
    gap = np.array([np.nextafter(delta, 0.0), delta, np.nextafter(delta, 10.0)])
    for sign in (1.0, -1.0):
        same(
            losses("huber_loss", sign * gap, np.zeros(3), delta=delta, reduction="none"),
            np.full(3, 0.5 * delta**2),
        )


@given(q=values, target=values, delta=st.floats(0.01, 50))
@settings(max_examples=40, deadline=None)
def test_huber_lies_between_zero_and_both_bounds(q, target, delta):
    siblings = load_siblings("impls.losses")
    for side in ("torch", "reference"):
        huber = Losses(siblings, side)("huber_loss", q, target, delta=delta, reduction="none")
        gap = np.abs(q - target)
        slack = default_tolerance("float64").atol * np.maximum(1.0, gap**2)
        assert np.all(huber >= 0.0)
        assert np.all(huber <= 0.5 * gap**2 + slack)
        assert np.all(huber <= delta * gap + slack)


@given(q=values, target=values, shift=st.floats(-100, 100, width=32))
@settings(max_examples=40, deadline=None)
def test_only_the_difference_counts(q, target, shift):
    siblings = load_siblings("impls.losses")
    for side in ("torch", "reference"):
        compute = Losses(siblings, side)
        moved = compute("mse_loss", q + shift, target + shift)
        scale = max(1.0, np.abs(q).max(), np.abs(target).max(), abs(shift))
        # the shift itself rounds: the bound is that of values of this size, squared
        bound = default_tolerance("float64").atol * scale**2
        assert abs(moved - compute("mse_loss", q, target)) <= bound


@pytest.mark.parametrize("name", ARGUMENTS)
def test_reference_gradient_is_the_slope(siblings, name):
    impl = siblings["reference"]
    names = ARGUMENTS[name]
    inputs = dict(zip(names, 2.0 * rows(len(names), batch=7), strict=True))
    for options in (
        [{}] if name == "td_error" else [{}, {"reduction": "sum"}, {"reduction": "none"}]
    ):
        output = getattr(impl, name)(**inputs, **options)
        weights = np.random.default_rng(3).normal(size=output.shape)
        found = getattr(impl, f"{name}_vjp")(cotangents={"value": weights}, **inputs, **options)
        assert set(found) == set(names) - {"target"}
        for key in found:
            assert found[key].shape == (7,)
            for i in range(7):
                up, down = inputs[key].copy(), inputs[key].copy()
                up[i] += 1e-6
                down[i] -= 1e-6
                rise = getattr(impl, name)(**{**inputs, key: up}, **options)
                fall = getattr(impl, name)(**{**inputs, key: down}, **options)
                slope = np.sum(weights * (rise - fall)) / 2e-6
                # a central difference keeps about half of the digits
                assert abs(slope - found[key][i]) <= np.sqrt(default_tolerance("float64").atol)


@pytest.mark.parametrize("side", ["torch", "tf"])
@pytest.mark.parametrize("name", [n for n in ARGUMENTS if "target" in ARGUMENTS[n]])
def test_target_gets_no_gradient(siblings, side, name):
    names, backend = ARGUMENTS[name], get_backend(side)
    _, gradients = backend.value_and_grad(
        getattr(siblings[side], name),
        dict(zip(names, rows(len(names)), strict=True)),
        wrt=names,
        cotangents=lambda _, shape: np.ones(shape),
        dtype="float64",
    )
    assert gradients["target"] is None or not np.any(gradients["target"])
    assert all(np.any(gradients[n]) for n in names if n != "target")


def test_one_step_down_the_actor_loss_raises_the_value(losses):
    q = rows(1)[0]
    assert losses("dpg_actor_loss", q + 0.1) < losses("dpg_actor_loss", q)


@pytest.mark.parametrize("side", ["torch", "tf"])
def test_the_sentinel_sees_the_column_that_validation_refuses(siblings, side):
    """With the refusal taken out, [B] against [B, 1] becomes [B, B] and is reported."""
    unchecked = Mutant(
        id=f"unchecked-{side}",
        sibling=side,
        find="def _require_vectors(**arrays",
        replace="def _require_vectors(**arrays): return\n\n\ndef _unused(**arrays",
        caught_by="function.mse_loss",
        because="the refusal is taken out",
    )
    backend, (q, target) = get_backend(side), rows(2)
    column = backend.tensor(target[:, None], dtype="float64")
    with planted("impls.losses", unchecked) as edited, backend.watch_broadcasts() as events:
        grown = edited[side].mse_loss(backend.tensor(q, dtype="float64"), column, reduction="none")
    assert tuple(grown.shape) == (13, 13)
    assert [(set(e.shapes), e.result) for e in events] == [({(13,), (13, 1)}, (13, 13))]
    with backend.watch_broadcasts() as events, pytest.raises(ShapeError, match=r"\(13, 1\)"):
        siblings[side].mse_loss(backend.tensor(q, dtype="float64"), column)
    assert events == []


@pytest.mark.parametrize("name", ARGUMENTS)
def test_torch_losses_trace_without_a_graph_break(siblings, name):
    import torch

    function = getattr(siblings["torch"], name)
    tensors = [torch.tensor(a) for a in rows(len(ARGUMENTS[name]))]
    compiled = torch.compile(function, fullgraph=True, backend="eager")
    assert torch.equal(compiled(*tensors), function(*tensors))


@pytest.mark.parametrize("jit_compile", [False, True])
def test_columns_are_refused_while_tracing(siblings, jit_compile):
    import tensorflow as tf

    function = tf.function(siblings["tf"].mse_loss, autograph=False, jit_compile=jit_compile)
    with pytest.raises(ShapeError, match=r"target has shape \(13, 1\), expected a vector \[B\]"):
        function(tf.ones([13]), tf.ones([13, 1]))
    assert function(tf.ones([13]), tf.zeros([13])) == 1.0


def test_unknown_batch_size_can_be_traced(siblings):
    import tensorflow as tf

    spec = [tf.TensorSpec([None]), tf.TensorSpec([None])]
    function = tf.function(siblings["tf"].mse_loss, input_signature=spec)
    assert [float(function(tf.ones([b]), tf.zeros([b]))) for b in (1, 13)] == [1.0, 1.0]


@pytest.mark.parametrize("case", COMPONENT.errors, ids=lambda case: case.id)
@pytest.mark.parametrize(("side", "dtype"), RUNS)
def test_misuse_is_refused_alike(siblings, case, side, dtype):
    with pytest.raises(case.error, match=case.match) as caught:
        case.call(Side(side, siblings[side], get_backend(side), dtype))
    assert caught.type is case.error
