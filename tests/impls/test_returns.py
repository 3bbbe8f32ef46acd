"""Returns: identities that need no second implementation, a naive oracle, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from impls.returns.spec import COMPONENT
from parity.backends import get_backend, to_numpy
from parity.compare import compare_arrays
from parity.runner import load_siblings
from parity.tolerance import default_tolerance

SIDES = ("torch", "tf", "reference")


@pytest.fixture(scope="module", params=SIDES)
def returns(request):
    return Returns(request.param)


class Returns:
    """The float64 returns of one side, on arrays."""

    def __init__(self, side: str) -> None:
        self.impl, self.backend = load_siblings("impls.returns")[side], get_backend(side)

    def __call__(self, name: str, *arguments: Any, **options: Any) -> np.ndarray:
        tensors = [self.backend.tensor(np.asarray(a)) for a in arguments]
        keywords = {
            key: self.backend.tensor(value) if isinstance(value, np.ndarray) else value
            for key, value in options.items()
        }
        return to_numpy(getattr(self.impl, name)(*tensors, **keywords))


def same(left: np.ndarray, right: np.ndarray) -> None:
    """The two agree to the project's float64 tolerance, and hold something."""
    found = compare_arrays(left, np.asarray(right), tolerance=default_tolerance("float64"))
    assert found.size > 0
    assert found.agrees, found


numbers = st.floats(-10, 10, width=32)
discount_values = st.one_of(st.just(0.0), st.just(1.0), st.floats(0, 1, width=32))


@st.composite
def episodes(draw):
    """Rewards, discounts, values and truncations of up to 6 steps in up to 3 environments."""
    shape = (draw(st.integers(1, 6)), draw(st.integers(1, 3)))
    r_t, v_t = (draw(arrays(np.float64, shape, elements=numbers)) for _ in range(2))
    discount_t = draw(arrays(np.float64, shape, elements=discount_values))
    return r_t, discount_t, v_t, draw(arrays(np.bool_, shape))


def recursive_return(r, d, v, n, cut, t, b):
    """The n-step return by its recursion; the reference sums explicit windows instead."""
    if n == 1 or t == len(r) - 1 or cut[t, b]:
        return r[t, b] + d[t, b] * v[t, b]
    return r[t, b] + d[t, b] * recursive_return(r, d, v, n - 1, cut, t + 1, b)


@settings(max_examples=40)
@given(data=episodes(), n=st.integers(1, 8))
def test_n_step_return_is_its_recursion(returns, data, n):
    r, d, v, cut = data
    naive = [
        [recursive_return(r, d, v, n, cut, t, b) for b in range(r.shape[1])] for t in range(len(r))
    ]
    same(returns("n_step_return", r, d, v, n=n, truncated=cut), naive)


@settings(max_examples=25)
@given(data=episodes(), extra=st.integers(0, 3))
def test_a_window_as_long_as_the_data_is_the_reward_to_go(returns, data, extra):
    r, d, v, cut = data
    whole = returns("n_step_return", r, d, v, n=len(r) + extra, truncated=cut)
    same(returns("reward_to_go", r, d, v, truncated=cut), whole)


@settings(max_examples=25)
@given(data=episodes())
def test_one_step_is_the_td_target(returns, data):
    r, d, v, cut = data
    same(returns("n_step_return", r, d, v, n=1, truncated=cut), returns("td_target", r, d, v))


@settings(max_examples=20)
@given(data=episodes(), n=st.integers(1, 8))
def test_without_a_future_the_return_is_the_reward(returns, data, n):
    r, d, v, cut = data
    same(returns("n_step_return", r, np.zeros_like(d), v, n=n, truncated=cut), r)
    same(returns("reward_to_go", r, np.zeros_like(d), v, truncated=cut), r)


@settings(max_examples=25)
@given(data=episodes(), n=st.integers(1, 8))
def test_the_advantage_telescopes_into_td_errors(returns, data, n):
    """G_t - V_t is the discounted sum of the TD errors in the window."""
    r, d, v, _ = data
    value_before = np.concatenate([np.ones_like(v[:1]), v[:-1]])
    td_errors = r + d * v - value_before
    summed = np.zeros_like(r)
    for t in range(len(r)):
        weight = np.ones(r.shape[1])
        for k in range(t, min(t + n, len(r))):
            summed[t] += weight * td_errors[k]
            weight = weight * d[k]
    same(returns("n_step_return", r, d, v, n=n) - value_before, summed)


@settings(max_examples=20)
@given(data=episodes(), n=st.integers(1, 8))
def test_leaving_out_the_first_step_leaves_the_rest_alone(returns, data, n):
    r, d, v, cut = (np.concatenate([a[:1], a]) for a in data)
    whole = returns("n_step_return", r, d, v, n=n, truncated=cut)
    later = returns("n_step_return", r[1:], d[1:], v[1:], n=n, truncated=cut[1:])
    same(whole[1:], later)


@settings(max_examples=20)
@given(gamma=st.floats(0.125, 0.875, width=32), shift=numbers, n=st.integers(1, 9))
def test_a_constant_added_to_the_rewards_is_a_geometric_sum(returns, gamma, shift, n):
    shape = (7, 3)
    r, v = np.random.default_rng(3).normal(size=(2, *shape))
    d = np.full(shape, gamma)
    steps = np.minimum(n, np.arange(7, 0, -1))[:, None]
    before = returns("n_step_return", r, d, v, n=n)
    after = returns("n_step_return", r + shift, d, v, n=n)
    same(after - before, np.broadcast_to(shift * (1 - gamma**steps) / (1 - gamma), shape))


@settings(max_examples=20)
@given(first=episodes(), n=st.integers(1, 8))
def test_truncation_keeps_episodes_apart(returns, first, n):
    """Two recordings in a row, the first truncated at its end, are two recordings."""
    second = tuple(a[::-1] for a in first)
    first[3][-1] = True
    joined = [np.concatenate(pair) for pair in zip(first, second, strict=True)]

    def run(name, r, d, v, cut, **options):
        return returns(name, r, d, v, truncated=cut, **options)

    for name, options in (("n_step_return", {"n": n}), ("reward_to_go", {})):
        apart = [run(name, *map(np.ascontiguousarray, e), **options) for e in (first, second)]
        same(run(name, *joined, **options), np.concatenate(apart))


def test_nothing_behind_a_termination_counts(returns):
    rng = np.random.default_rng(5)
    r, v = rng.normal(size=(2, 7, 3))
    d = np.full((7, 3), 0.9)
    d[3] = 0.0
    r2, v2 = r.copy(), v.copy()
    r2[4:] += 100.0
    v2[3:] -= 100.0
    same(
        returns("reward_to_go", r, d, v)[:4],
        returns("reward_to_go", r2, d, v2)[:4],
    )


def test_truncation_bootstraps_and_termination_does_not(returns):
    terminated, truncated = np.array([[True], [False]]), np.array([[False], [True]])
    d = returns("discounts", terminated, truncated, gamma=0.5, dtype="float64")
    same(d, np.array([[0.0], [0.5]]))
    r, v = np.ones((2, 1)), np.full((2, 1), 8.0)
    same(returns("n_step_return", r, d, v, n=5, truncated=truncated), np.array([[1.0], [5.0]]))


def test_both_flags_mean_terminated(returns):
    both = np.ones((2, 3), np.bool_)
    assert not returns("discounts", both, both, gamma=0.9).any()


def test_gamma_keeps_the_dtype_of_its_tensor():
    flags = np.zeros((2, 3), np.bool_)
    for side in ("torch", "tf"):
        run = Returns(side)
        assert run("discounts", flags, flags, np.asarray(0.9, np.float64)).dtype == np.float64
        assert run("discounts", flags, flags, gamma=0.9).dtype == np.float32


@settings(max_examples=25)
@given(data=episodes(), n=st.integers(1, 8), seed=st.integers(0, 99))
def test_reference_gradients_are_adjoint(data, n, seed):
    """Returns are linear in rewards and values: <c, G(x)> = <vjp(c), x> for every x."""
    r, d, v, cut = data
    impl = load_siblings("impls.returns")["reference"]
    c = np.random.default_rng(seed).normal(size=r.shape)
    fixed = {"discount_t": d, "truncated": cut}
    for name, options in (("n_step_return", {"n": n}), ("reward_to_go", {})):
        function, vjp = getattr(impl, name), getattr(impl, f"{name}_vjp")
        gradients = vjp(cotangents={"value": c}, r_t=r, v_t=v, **fixed, **options)
        forward = np.sum(c * function(r_t=r, v_t=v, **fixed, **options))
        same(np.sum(gradients["r_t"] * r + gradients["v_t"] * v)[None], forward[None])


def test_tracing_with_an_unknown_length():
    """n-step returns work where T is unknown; a reward to go says that it needs T."""
    import tensorflow as tf

    from impls.errors import ShapeError

    impl = load_siblings("impls.returns")["tf"]
    unknown = [tf.TensorSpec([None, None], tf.float64)] * 3
    traced = tf.function(lambda r, d, v: impl.n_step_return(r, d, v, 3), input_signature=unknown)
    r, d, v = np.random.default_rng(2).random((3, 7, 13))
    same(to_numpy(traced(r, d, v)), to_numpy(impl.n_step_return(*map(tf.constant, (r, d, v)), 3)))
    with pytest.raises(ShapeError, match="T must be known"):
        tf.function(impl.reward_to_go, input_signature=unknown).get_concrete_function()


def test_every_function_of_the_contract_is_checked():
    checked = {check.name for check in COMPONENT.checks}
    assert checked == {function.__name__ for function in COMPONENT.contract}
