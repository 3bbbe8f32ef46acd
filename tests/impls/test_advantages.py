"""Advantages: telescoping sums, limits in lambda, on-policy V-trace, episodes kept apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from impls.advantages.spec import COMPONENT
from impls.errors import ShapeError
from tests.support.functions import (
    SIDES,
    Functions,
    assert_reference_slope,
    assert_traceable,
    same,
)

numbers = st.floats(-10, 10, width=32)
shares = st.one_of(st.just(0.0), st.just(1.0), st.floats(0, 1, width=32))
FIRST_CASES = {check.name: check for check in reversed(COMPONENT.checks)}


@pytest.fixture(scope="module", params=SIDES)
def advantages(request):
    return Functions("advantages", request.param)


@pytest.fixture(scope="module")
def returns():
    return Functions("returns", "reference")


@st.composite
def episodes(draw, batch=3):
    """Steps whose values fit together: before a step is what the step before led to.

    Except behind an end: there a new episode begins with a value of its own.
    """
    shape = (draw(st.integers(1, 6)), draw(st.integers(1, batch)))
    r_t, v_t, first = (draw(arrays(np.float64, shape, elements=numbers)) for _ in range(3))
    discount_t = draw(arrays(np.float64, shape, elements=shares))
    truncated = draw(arrays(np.bool_, shape))
    ends = truncated | (discount_t == 0.0)
    v_tm1 = np.concatenate([first[:1], np.where(ends, first, v_t)[:-1]])
    return {
        "r_t": r_t,
        "discount_t": discount_t,
        "v_tm1": v_tm1,
        "v_t": v_t,
        "truncated": truncated,
    }


def without(data, *names):
    return {name: array for name, array in data.items() if name not in names}


def ratios(data, seed=1):
    """Log-probabilities of two policies, for V-trace."""
    log_pi, log_mu = -np.random.default_rng(seed).uniform(0.1, 2.0, (2, *data["r_t"].shape))
    return {"log_pi_tm1": log_pi, "log_mu_tm1": log_mu}


def naive(terms, factors, truncated):
    """The recursion itself, one environment at a time; the reference sums explicit weights."""
    found = np.zeros_like(terms)
    for b in range(terms.shape[1]):
        later = 0.0
        for t in reversed(range(len(terms))):
            later = terms[t, b] + factors[t, b] * (0.0 if truncated[t, b] else later)
            found[t, b] = later
    return found


@settings(max_examples=30)
@given(data=episodes(), lambda_=shares)
def test_gae_is_its_recursion(advantages, data, lambda_):
    delta = data["r_t"] + data["discount_t"] * data["v_t"] - data["v_tm1"]
    wanted = naive(delta, lambda_ * data["discount_t"], data["truncated"])
    same(advantages("gae", **data, lambda_=lambda_), wanted)


@settings(max_examples=20)
@given(data=episodes())
def test_lambda_one_telescopes_to_monte_carlo_minus_value(advantages, returns, data):
    whole = returns("reward_to_go", **without(data, "v_tm1"))
    same(advantages("gae", **data, lambda_=1.0), whole - data["v_tm1"])
    same(advantages("lambda_returns", **without(data, "v_tm1"), lambda_=1.0), whole)


@settings(max_examples=20)
@given(data=episodes())
def test_lambda_zero_is_the_td_error(advantages, returns, data):
    target = returns("td_target", *(data[name] for name in ("r_t", "discount_t", "v_t")))
    same(advantages("gae", **data, lambda_=0.0), target - data["v_tm1"])
    same(advantages("lambda_returns", **without(data, "v_tm1"), lambda_=0.0), target)


@settings(max_examples=20)
@given(data=episodes(), lambda_=shares)
def test_without_a_future_only_the_reward_counts(advantages, data, lambda_):
    data = {**data, "discount_t": np.zeros_like(data["r_t"])}
    same(advantages("gae", **data, lambda_=lambda_), data["r_t"] - data["v_tm1"])
    same(advantages("lambda_returns", **without(data, "v_tm1"), lambda_=lambda_), data["r_t"])
    weight = ratios(data)
    rho = np.minimum(1.0, np.exp(weight["log_pi_tm1"] - weight["log_mu_tm1"]))
    target, advantage = advantages("vtrace", **data, **weight, lambda_=lambda_)
    same(advantage, rho * (data["r_t"] - data["v_tm1"]))
    same(target, data["v_tm1"] + advantage)


@settings(max_examples=20)
@given(data=episodes(), lambda_=shares)
def test_gae_is_the_lambda_return_minus_the_value(advantages, data, lambda_):
    mixed = advantages("lambda_returns", **without(data, "v_tm1"), lambda_=lambda_)
    same(advantages("gae", **data, lambda_=lambda_), mixed - data["v_tm1"])


@settings(max_examples=20)
@given(data=episodes(), lambda_=shares)
def test_the_lambda_return_mixes_n_step_returns(advantages, returns, data, lambda_):
    """(1 - lambda) sum_n lambda^(n-1) G^(n), the longest window with all that is left."""
    steps = len(data["r_t"])
    data = without(data, "v_tm1")
    windows = [returns("n_step_return", **data, n=n) for n in range(1, steps + 1)]
    mixed = lambda_ ** (steps - 1) * windows[-1]
    mixed = mixed + sum((1 - lambda_) * lambda_**n * g for n, g in enumerate(windows[:-1]))
    same(advantages("lambda_returns", **data, lambda_=lambda_), mixed)


@settings(max_examples=20)
@given(data=episodes(), lambda_=shares, excess=st.floats(0, 3, width=32))
def test_on_policy_vtrace_is_the_lambda_return(advantages, data, lambda_, excess):
    """And so is any ratio above both thresholds of 1."""
    log_mu = ratios(data)["log_mu_tm1"]
    weight = {"log_pi_tm1": log_mu + excess, "log_mu_tm1": log_mu}
    target, advantage = advantages("vtrace", **data, **weight, lambda_=lambda_)
    mixed = advantages("lambda_returns", **without(data, "v_tm1"), lambda_=lambda_)
    same(target, mixed)
    following = np.concatenate([target[1:], data["v_t"][-1:]])
    following = np.where(data["truncated"], data["v_t"], following)
    same(advantage, data["r_t"] + data["discount_t"] * following - data["v_tm1"])


@settings(max_examples=20)
@given(data=episodes())
def test_on_policy_vtrace_advantage_is_that_of_monte_carlo(advantages, data):
    log_mu = ratios(data)["log_mu_tm1"]
    _, advantage = advantages("vtrace", **data, log_pi_tm1=log_mu, log_mu_tm1=log_mu)
    same(advantage, advantages("gae", **data, lambda_=1.0))


@settings(max_examples=20)
@given(data=episodes(), lambda_=shares)
def test_vtrace_is_its_recursion(advantages, data, lambda_):
    weight = ratios(data)
    ratio = np.exp(weight["log_pi_tm1"] - weight["log_mu_tm1"])
    rho, c = np.minimum(ratio, 1.5), lambda_ * np.minimum(ratio, 1.25)
    delta = rho * (data["r_t"] + data["discount_t"] * data["v_t"] - data["v_tm1"])
    wanted = data["v_tm1"] + naive(delta, c * data["discount_t"], data["truncated"])
    options = {"lambda_": lambda_, "rho_bar": 1.5, "c_bar": 1.25}
    same(advantages("vtrace", **data, **weight, **options)[0], wanted)


def test_an_action_that_is_never_taken_teaches_nothing(advantages):
    rng = np.random.default_rng(3)
    r_t, v_tm1, v_t = rng.normal(size=(3, 7, 2))
    never = {"log_pi_tm1": np.full((7, 2), -800.0), "log_mu_tm1": np.full((7, 2), -0.5)}
    target, advantage = advantages("vtrace", r_t, np.full((7, 2), 0.9), v_tm1, v_t, **never)
    same(target, v_tm1)
    same(advantage, np.zeros((7, 2)))


CALLS = ("gae", "lambda_returns", "vtrace")


def call(advantages, name, data, weight):
    """All outputs of a function, in a tuple."""
    if name == "lambda_returns":
        data = without(data, "v_tm1")
    found = advantages(name, **data, **(weight if name == "vtrace" else {}), lambda_=0.9)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=15)
@given(first=episodes())
def test_truncation_keeps_episodes_apart(advantages, name, first):
    """Two recordings in a row, the first truncated at its end, are two recordings."""
    first["truncated"][-1] = True
    second = {key: np.ascontiguousarray(array[::-1]) for key, array in first.items()}
    weights = ratios(first), ratios(second, seed=2)
    apart = zip(
        call(advantages, name, first, weights[0]),
        call(advantages, name, second, weights[1]),
        strict=True,
    )
    joined = {key: np.concatenate([first[key], second[key]]) for key in first}
    weight = {key: np.concatenate([w[key] for w in weights]) for key in weights[0]}
    for whole, parts in zip(call(advantages, name, joined, weight), apart, strict=True):
        same(whole, np.concatenate(parts))


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=15)
@given(data=episodes(batch=4))
def test_environments_do_not_mix(advantages, name, data):
    weight = ratios(data)
    whole = call(advantages, name, data, weight)
    for b in range(data["r_t"].shape[1]):
        one, single = ({k: a[:, [b]] for k, a in arrays.items()} for arrays in (data, weight))
        for found, part in zip(whole, call(advantages, name, one, single), strict=True):
            same(part, found[:, [b]])


@pytest.mark.parametrize("name", CALLS)
def test_termination_and_truncation_differ(advantages, name):
    """A step of reward 1 to a state worth 8 from one worth 2, gamma 0.5, then another episode."""
    terminated = np.array([[True, False], [False, False]])
    data = {
        "r_t": np.array([[1.0, 1.0], [100.0, 100.0]]),
        "discount_t": np.where(terminated, 0.0, 0.5),
        "v_tm1": np.full((2, 2), 2.0),
        "v_t": np.full((2, 2), 8.0),
        "truncated": np.array([[False, True], [False, False]]),
    }
    even = np.full((2, 2), -1.0)
    found = call(advantages, name, data, {"log_pi_tm1": even, "log_mu_tm1": even})[0][0]
    same(found, {"gae": [-1.0, 3.0]}.get(name, [1.0, 5.0]))


values = arrays(np.float64, 6, elements=st.floats(-100, 100, width=32))


@settings(max_examples=20)
@given(values=values, shift=numbers, scale=st.floats(0.5, 4, width=32))
def test_normalized_advantages_have_mean_zero_and_deviation_one(advantages, values, shift, scale):
    values = values + np.array([0.0, 0.0, 0.0, 1.0, 2.0, 300.0])  # never all equal
    found = advantages("normalize_advantage", values, epsilon=0.0)
    same(np.mean(found), 0.0)
    same(np.mean(found**2), 1.0)
    moved = advantages("normalize_advantage", scale * values + shift, epsilon=0.0)
    same(moved, found)


def test_equal_advantages_normalize_to_zero(advantages):
    same(advantages("normalize_advantage", np.full(5, 3.0)), np.zeros(5))


SMALL = [c for c in COMPONENT.checks if c.gradients and c.case in ("truncated", "single-step-data")]


@pytest.mark.parametrize("check", SMALL, ids=lambda c: f"{c.name}-{c.case}")
def test_reference_gradient_is_the_slope(check):
    assert_reference_slope("advantages", check)


@pytest.mark.parametrize("name", FIRST_CASES)
def test_torch_traces_without_a_graph_break(name):
    assert_traceable("advantages", FIRST_CASES[name])


def test_tracing_needs_the_number_of_steps():
    import tensorflow as tf

    impl = Functions("advantages", "tf").impl

    def estimate(*arrays):
        return impl.gae(*arrays, lambda_=0.9)

    data = tuple(np.random.default_rng(2).normal(size=(4, 7, 3)))
    unknown_batch = tf.function(
        estimate, input_signature=[tf.TensorSpec([7, None], tf.float64)] * 4
    )
    same(unknown_batch(*data).numpy(), estimate(*map(tf.constant, data)).numpy())
    unknown = tf.function(estimate, input_signature=[tf.TensorSpec([None, 3], tf.float64)] * 4)
    with pytest.raises(ShapeError, match="T must be known"):
        unknown.get_concrete_function()


def test_every_function_of_the_contract_is_checked():
    assert set(FIRST_CASES) == {function.__name__ for function in COMPONENT.contract}
