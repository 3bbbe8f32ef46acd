"""Actor-critic networks: what holds whatever the numbers are."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from impls.actor_critic_network.config import (
    ActorCriticConfig,
    initial_parameters,
    parameter_shapes,
)
from parity.backends import get_backend, to_numpy
from parity.component import SIBLINGS

SIDES = tuple(SIBLINGS)
CONFIGS = [
    ActorCriticConfig(3, 2, (11, 7), shared=shared, continuous=continuous, value=value)
    for shared in (True, False)
    for continuous in (True, False)
    for value in (True, False)
]


def built(side, config):
    """A network of one side, and what reads and writes its parameters."""
    impl = import_module(f"impls.actor_critic_network.{SIBLINGS[side]}")
    return impl.make_actor_critic(config, dtype="float64"), import_module(
        f"impls.networks.{SIBLINGS[side]}"
    )


def called(side, network, observation):
    tensor = get_backend(side).tensor(observation, dtype="float64")
    return {name: to_numpy(value) for name, value in network(tensor).items()}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("config", CONFIGS)
def test_parameters_have_their_names_and_first_values_on_every_side(side, config):
    network, networks = built(side, config)
    found = networks.canonical(networks.network_parameters(network))
    first = initial_parameters(config, np.random.default_rng(0))
    assert list(found) == list(first) == list(parameter_shapes(config))
    for name, value in found.items():
        np.testing.assert_array_equal(value, first[name])


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("shared", [True, False])
def test_separate_trunks_do_not_meet_and_a_shared_one_moves_both(side, shared):
    config = ActorCriticConfig(3, 2, (11, 7), shared=shared)
    network, networks = built(side, config)
    observation = np.random.default_rng(1).normal(size=(5, 3))
    before = called(side, network, observation)
    values = networks.canonical(networks.network_parameters(network))
    values[f"{config.trunks[0]}/l1/kernel"] = values[f"{config.trunks[0]}/l1/kernel"] + 0.5
    networks.load_parameters(network, values)
    after = called(side, network, observation)
    assert (after["logits"] != before["logits"]).all()
    assert (after["value"] != before["value"]).all() == shared


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("shared", [True, False])
def test_the_value_alone_is_the_value(side, shared):
    network, _ = built(side, ActorCriticConfig(3, 2, (11, 7), shared=shared))
    observation = np.random.default_rng(1).normal(size=(5, 3))
    tensor = get_backend(side).tensor(observation, dtype="float64")
    value = to_numpy(network.state_value(tensor))
    assert value.shape == (5,)
    np.testing.assert_array_equal(value, called(side, network, observation)["value"])


@pytest.mark.parametrize("side", SIDES)
def test_the_deviation_does_not_depend_on_the_observation(side):
    network, _ = built(side, ActorCriticConfig(3, 2, (11, 7), continuous=True, log_std=-0.5))
    made = called(side, network, np.random.default_rng(1).normal(size=(5, 3)))
    assert list(made) == ["mean", "log_std", "value"]
    np.testing.assert_array_equal(made["log_std"], [-0.5, -0.5])
    assert made["mean"].shape == (5, 2)


def test_kernels_start_orthogonal_with_their_gains():
    config = ActorCriticConfig(3, 2, (11, 7))
    values = initial_parameters(config, np.random.default_rng(4))
    gains = {"trunk/l1": 2.0, "trunk/l2": 2.0, "policy_logits": 1e-4, "value": 1.0}
    for layer, square in gains.items():
        kernel = values[f"{layer}/kernel"]
        small = kernel.T @ kernel if kernel.shape[0] >= kernel.shape[1] else kernel @ kernel.T
        np.testing.assert_allclose(small, square * np.eye(len(small)), atol=1e-6 * square)
        assert not values[f"{layer}/bias"].any()


def test_initial_values_are_those_of_float32():
    for value in initial_parameters(CONFIGS[0], np.random.default_rng(4)).values():
        np.testing.assert_array_equal(value, value.astype(np.float32))
