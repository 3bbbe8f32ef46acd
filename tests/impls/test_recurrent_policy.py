"""The recurrent policy against the frameworks' own LSTMs, and against itself cut into pieces."""

from __future__ import annotations

import importlib
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impls.recurrent_policy.cases import CONFIG, sequences
from impls.recurrent_policy.config import RecurrentPolicyConfig, initial_parameters
from parity.backends import get_backend, to_numpy
from parity.runner import load_siblings

SIDES = ("torch", "tf", "reference")
SETTINGS = settings(max_examples=15, deadline=None, database=None, derandomize=True)


@pytest.fixture(scope="module", params=SIDES)
def side(request):
    return request.param


def sequence(seed=0, steps=7, rows=4, starts=0.3):
    return sequences(CONFIG, steps, rows, starts)(np.random.default_rng(seed))


def called(side, arrays):
    backend = get_backend(side)
    given_ = {name: backend.tensor(array, dtype="float64") for name, array in arrays.items()}
    made = load_siblings("impls.recurrent_policy")[side].recurrent_policy(**given_)
    return {name: to_numpy(value) for name, value in made.items()}


def require_close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


def with_heads(features, arrays):
    return features @ arrays["policy_kernel"] + arrays["policy_bias"]


def test_torch_s_own_lstm_agrees_where_no_episode_begins(side):
    import torch

    arrays = sequence(starts=0.0)
    half = arrays["bias"] * np.linspace(-1.0, 2.0, len(arrays["bias"]))
    lstm = torch.nn.LSTM(CONFIG.observation_size, CONFIG.units).double()
    weights = {
        "weight_ih_l0": arrays["kernel"].T,
        "weight_hh_l0": arrays["recurrent_kernel"].T,
        "bias_ih_l0": half,
        "bias_hh_l0": arrays["bias"] - half,  # its two biases add up to ours
    }
    with torch.no_grad():
        for name, value in weights.items():
            getattr(lstm, name).copy_(torch.tensor(np.ascontiguousarray(value)))
        state = tuple(torch.tensor(arrays[name])[None] for name in ("hidden", "cell"))
        features, (hidden, cell) = lstm(torch.tensor(arrays["observation"]), state)
    found = called(side, arrays)
    require_close(found["logits"], with_heads(features.numpy(), arrays))
    require_close(found["hidden"], hidden[0].numpy())
    require_close(found["cell"], cell[0].numpy())


def test_keras_s_own_lstm_agrees_where_no_episode_begins(side):
    import keras
    import tensorflow as tf

    arrays = sequence(starts=0.0)
    lstm = keras.layers.LSTM(
        CONFIG.units, return_sequences=True, return_state=True, dtype="float64"
    )
    observation = tf.constant(arrays["observation"].transpose(1, 0, 2))
    state = [tf.constant(arrays[name]) for name in ("hidden", "cell")]
    lstm.build(observation.shape)
    lstm.set_weights([arrays[name] for name in ("kernel", "recurrent_kernel", "bias")])
    features, hidden, cell = lstm(observation, initial_state=state)
    found = called(side, arrays)
    require_close(found["logits"], with_heads(features.numpy().transpose(1, 0, 2), arrays))
    require_close(found["hidden"], hidden.numpy())
    require_close(found["cell"], cell.numpy())


@given(seed=st.integers(0, 999), steps=st.integers(2, 8), data=st.data())
@SETTINGS
def test_a_sequence_may_be_cut_anywhere(seed, steps, data):
    """The state that the first part returns is all that the second needs."""
    arrays = sequence(seed, steps)
    cut = data.draw(st.integers(1, steps - 1))
    for side in SIDES:
        whole = called(side, arrays)
        parts, state = [], {}
        for piece in (slice(0, cut), slice(cut, steps)):
            part = {name: arrays[name][piece] for name in ("observation", "start")}
            made = called(side, {**arrays, **part, **state})
            state = {name: made[name] for name in ("hidden", "cell")}
            parts.append(made)
        for name in ("logits", "value"):
            require_close(np.concatenate([part[name] for part in parts]), whole[name])
        require_close(state["cell"], whole["cell"])


@given(seed=st.integers(0, 999), begin=st.integers(0, 6))
@SETTINGS
def test_an_episode_is_the_same_wherever_it_stands(seed, begin):
    """From its start on, an episode gives what it gives alone, from a state of zeros."""
    arrays = sequence(seed, steps=7, rows=1, starts=0.0)
    arrays["start"][begin] = True
    alone = {**arrays, "hidden": np.zeros((1, 5)), "cell": np.zeros((1, 5))}
    alone |= {name: arrays[name][begin:] for name in ("observation", "start")}
    alone["start"] = np.zeros_like(alone["start"])
    for side in SIDES:
        whole, part = called(side, arrays), called(side, alone)
        require_close(whole["logits"][begin:], part["logits"])
        require_close(whole["value"][begin:], part["value"])


def test_rows_do_not_see_each_other(side):
    arrays = sequence()
    other = {name: array.copy() for name, array in arrays.items()}
    other["start"][:, 2] = ~other["start"][:, 2]
    other["observation"][:, 2] += 1.0
    found, changed = called(side, arrays), called(side, other)
    kept = [0, 1, 3]
    require_close(found["logits"][:, kept], changed["logits"][:, kept])
    assert np.abs(found["logits"][:, 2] - changed["logits"][:, 2]).max() > 1e-3


def test_gates_of_any_order_come_back(side):
    backend = get_backend(side)
    blocks = {gate: np.full((2, 3), float(k)) for k, gate in enumerate("ifgo")}
    function = load_siblings("impls.recurrent_policy")[side].canonical_gates
    wanted = np.concatenate([blocks[gate] for gate in "ifgo"], axis=1)
    for order in permutations("ifgo"):
        given_ = backend.tensor(np.concatenate([blocks[gate] for gate in order], axis=1))
        assert np.array_equal(to_numpy(function(given_, order="".join(order))), wanted), order


@pytest.mark.parametrize("framework", ["torch", "tf"])
def test_the_module_is_the_function(framework):
    """As layers of the framework, on one episode per row: what the reference makes of it."""
    config = RecurrentPolicyConfig(4, 3, units=5)
    module = importlib.import_module(f"impls.recurrent_policy.{framework}_module")
    network = module.RecurrentPolicy(config, dtype="float64", seed=3)
    observation = np.random.default_rng(0).normal(size=(2, 7, 4))
    made = network(get_backend(framework).tensor(observation, dtype="float64"))
    zeros = np.zeros((2, 5))
    wanted = load_siblings("impls.recurrent_policy")["reference"].recurrent_policy(
        observation.swapaxes(0, 1),
        np.zeros((7, 2), bool),
        zeros,
        zeros,
        **initial_parameters(config, np.random.default_rng(3)),
    )
    for name in ("logits", "value"):
        there = np.swapaxes(to_numpy(made[name]), 0, 1)
        np.testing.assert_allclose(there, wanted[name], rtol=0, atol=1e-12, err_msg=name)
