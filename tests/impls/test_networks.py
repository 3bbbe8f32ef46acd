"""Networks: identities that need no second implementation, transfer, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parity
from impls.errors import ConfigError, DtypeError, ShapeError
from impls.networks.config import (
    ActorConfig,
    CriticConfig,
    MLPConfig,
    initial_parameters,
    parameter_shapes,
)
from impls.networks.spec import COMPONENT
from parity.backends import get_backend, to_numpy
from parity.component import Side
from parity.runner import load_siblings
from parity.tolerance import default_tolerance

SIDES = ("torch", "tf", "reference")
RUNS = [*((side, d) for side in SIDES[:2] for d in ("float32", "float64")), (SIDES[2], "float64")]
MLP = MLPConfig(3, (11, 7), 2)
ACTOR = ActorConfig(3, 2, (11, 7), (2.0, 0.4))
CRITIC = CriticConfig(3, 2, (11, 7))
MAKERS = {"make_mlp": MLP, "make_actor": ACTOR, "make_twin_critic": CRITIC}


@pytest.fixture(scope="module")
def siblings():
    return load_siblings("impls.networks")


class Network:
    """A float64 network of one side that takes and gives arrays."""

    def __init__(self, siblings, side, name, config, parameters=None):
        self.impl, self.backend = siblings[side], get_backend(side)
        self.network = getattr(self.impl, name)(config, dtype="float64")
        if parameters is not None:
            self.impl.load_parameters(self.network, parameters)

    def __call__(self, *inputs, of=None):
        function = self.network if of is None else getattr(self.network, of)
        outputs = function(*(self.backend.tensor(a) for a in inputs))
        if isinstance(outputs, tuple):
            return tuple(to_numpy(o) for o in outputs)
        return to_numpy(outputs)


def same(left, right):
    """The two arrays agree to the project's float64 tolerance and hold something."""
    parity.assert_parity(left={"value": left}, right={"value": right})


def drawn(config, seed=1):
    return initial_parameters(config, np.random.default_rng(seed))


def rows(*sizes, batch=13, seed=2):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(batch, size)) for size in sizes]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", MAKERS)
def test_starts_with_the_documented_parameters(siblings, side, name):
    impl, config = siblings[side], MAKERS[name]
    network = getattr(impl, name)(config, dtype="float64")
    found = impl.canonical(impl.network_parameters(network))
    documented = drawn(config, seed=0)
    assert list(found) == list(documented) == list(parameter_shapes(config))
    for key, value in documented.items():
        np.testing.assert_array_equal(found[key], value)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("side", SIDES)
def test_load_then_export_is_the_identity(siblings, side, dtype):
    impl = siblings[side]
    network = impl.make_twin_critic(CRITIC, dtype=dtype)
    values = drawn(CRITIC)
    impl.load_parameters(network, values)
    found = impl.canonical(impl.network_parameters(network))
    for key, value in values.items():
        np.testing.assert_array_equal(found[key], value)  # float32 holds them exactly
        assert side == "reference" or found[key].dtype == dtype


def test_initial_parameters_are_bounded_by_fan_in_and_vary():
    for name, value in drawn(CriticConfig(17, 6, (256, 256))).items():
        fan_in = parameter_shapes(CriticConfig(17, 6, (256, 256)))[name.replace("bias", "kernel")][
            0
        ]
        assert np.abs(value).max() <= 1 / np.sqrt(fan_in)
        assert value.size == 1 or np.unique(value).size > value.size // 2
        np.testing.assert_array_equal(value, value.astype(np.float32))


def test_initial_parameters_fill_their_range():
    kernel = drawn(MLPConfig(64, (256,), 1))["l1/kernel"] * 8.0
    assert 0.99 < kernel.max() <= 1.0 and -1.0 <= kernel.min() < -0.99
    assert abs(np.mean(kernel**2) - 1 / 3) < 0.01  # a uniform variable's second moment


@pytest.mark.parametrize("side", SIDES)
def test_building_draws_nothing_from_a_global_generator(siblings, side):
    import random

    import torch

    before = (torch.get_rng_state().clone(), random.getstate(), np.random.get_state()[1].copy())
    siblings[side].make_twin_critic(CRITIC, dtype="float32")
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    np.testing.assert_array_equal(np.random.get_state()[1], before[2])


@pytest.mark.parametrize("side", SIDES)
def test_zero_kernels_leave_the_bias(siblings, side):
    values = {k: v * (k == "l3/bias") for k, v in drawn(ACTOR).items()}
    action = Network(siblings, side, "make_actor", ACTOR, values)(*rows(3))
    expected_row = np.array([2.0, 0.4]) * np.tanh(values["l3/bias"])
    same(action, np.tile(expected_row, (13, 1)))


@pytest.mark.parametrize("side", SIDES)
def test_relu_network_without_biases_is_homogeneous(siblings, side):
    values = {k: v * k.endswith("kernel") for k, v in drawn(MLP).items()}
    network = Network(siblings, side, "make_mlp", MLP, values)
    (x,) = rows(3)
    same(network(2.5 * x), 2.5 * network(x))


@pytest.mark.parametrize("side", SIDES)
def test_tanh_network_without_biases_is_odd(siblings, side):
    config = MLPConfig(3, (11, 7), 2, "tanh")
    values = {k: v * k.endswith("kernel") for k, v in drawn(config).items()}
    network = Network(siblings, side, "make_mlp", config, values)
    (x,) = rows(3)
    same(network(-x), -network(x))
    assert not np.allclose(network(2 * x), 2 * network(x))  # it is not linear


@pytest.mark.parametrize("side", SIDES)
def test_order_of_hidden_units_does_not_matter(siblings, side):
    values, order = drawn(MLP), np.random.default_rng(3).permutation(11)
    shuffled = {
        **values,
        "l1/kernel": values["l1/kernel"][:, order],
        "l1/bias": values["l1/bias"][order],
        "l2/kernel": values["l2/kernel"][order],
    }
    (x,) = rows(3)
    plain = Network(siblings, side, "make_mlp", MLP, values)(x)
    same(Network(siblings, side, "make_mlp", MLP, shuffled)(x), plain)


@pytest.mark.parametrize("side", SIDES)
def test_linear_network_is_a_matrix(siblings, side):
    config = MLPConfig(3, (), 2)
    network = Network(siblings, side, "make_mlp", config, drawn(config))
    values = drawn(config)
    # the rows of the identity read the kernel out, whatever its layout inside
    same(network(np.eye(3)) - values["l1/bias"], values["l1/kernel"])


@pytest.mark.parametrize("side", SIDES)
def test_rows_of_a_batch_are_independent(siblings, side):
    critic = Network(siblings, side, "make_twin_critic", CRITIC, drawn(CRITIC))
    observation, action = rows(3, 2)
    whole, row = critic(observation, action), critic(observation[4:5], action[4:5])
    for q, q_row in zip(whole, row, strict=True):
        assert q.shape == (13,) and q_row.shape == (1,)
        same(q[4:5], q_row)


@pytest.mark.parametrize("side", SIDES)
def test_critics_are_independent_and_q1_runs_alone(siblings, side):
    values, inputs = drawn(CRITIC), rows(3, 2)
    critic = Network(siblings, side, "make_twin_critic", CRITIC, values)
    q1, q2 = critic(*inputs)
    assert not np.allclose(q1, q2)
    np.testing.assert_array_equal(critic(*inputs, of="q1"), q1)
    moved = {k: v + 0.1 * k.startswith("q2/") for k, v in values.items()}
    q1_after, q2_after = Network(siblings, side, "make_twin_critic", CRITIC, moved)(*inputs)
    np.testing.assert_array_equal(q1_after, q1)
    assert not np.allclose(q2_after, q2)
    swapped = {("q2/" if k[1] == "1" else "q1/") + k[3:]: v for k, v in values.items()}
    second, first = Network(siblings, side, "make_twin_critic", CRITIC, swapped)(*inputs)
    np.testing.assert_array_equal(first, q1)
    np.testing.assert_array_equal(second, q2)


@pytest.mark.parametrize("side", SIDES)
def test_observation_comes_first_in_the_critic(siblings, side):
    values = drawn(CRITIC)
    values["q1/l1/kernel"][3:] = 0.0  # the two rows that the action meets
    critic = Network(siblings, side, "make_twin_critic", CRITIC, values)
    observation, action = rows(3, 2)
    before, after = critic(observation, action), critic(observation, action + 1.0)
    np.testing.assert_array_equal(before[0], after[0])
    assert not np.allclose(before[1], after[1])
    assert not np.allclose(before[0], critic(observation + 1.0, action)[0])


@pytest.mark.parametrize("side", SIDES)
def test_bound_scales_each_dimension(siblings, side):
    values, (x,) = drawn(ACTOR), rows(3)
    one = Network(siblings, side, "make_actor", ActorConfig(3, 2, (11, 7)), values)
    bounded = Network(siblings, side, "make_actor", ACTOR, values)
    same(bounded(x), one(x) * np.array([2.0, 0.4]))
    np.testing.assert_array_equal(to_numpy(bounded.network.max_action), [2.0, 0.4])
    scalar = Network(siblings, side, "make_actor", ActorConfig(3, 2, (11, 7), 2.0), values)
    same(scalar(x), 2.0 * one(x))


@given(scale=st.floats(0.01, 1e6), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_actions_never_leave_the_bounds(scale, seed):
    siblings = load_siblings("impls.networks")
    (x,) = rows(3, seed=seed)
    actions = [
        Network(siblings, side, "make_actor", ACTOR, drawn(ACTOR, seed))(scale * x)
        for side in ("torch", "reference")
    ]
    for action in actions:
        assert np.all(np.abs(action) <= np.array([2.0, 0.4]))
    same(*actions)


@pytest.mark.parametrize(
    ("name", "config", "sizes"),
    [
        ("make_mlp", MLP, (3,)),
        ("make_mlp", MLPConfig(3, (11, 7), 2, "tanh"), (3,)),
        ("make_actor", ACTOR, (3,)),
        ("make_twin_critic", CRITIC, (3, 2)),
    ],
    ids=["mlp-relu", "mlp-tanh", "actor", "twin-critic"],
)
def test_reference_gradient_is_the_slope(siblings, name, config, sizes):
    network = getattr(siblings["reference"], name)(config, dtype="float64")
    siblings["reference"].load_parameters(network, drawn(config))
    inputs, rng = rows(*sizes, batch=5), np.random.default_rng(4)
    weights: dict[str, np.ndarray] = {}

    def cotangents(path, shape):
        return weights.setdefault(path, rng.normal(size=shape))

    def total():
        outputs = network(*inputs)
        named = (
            {str(i): o for i, o in enumerate(outputs)}
            if isinstance(outputs, tuple)
            else {"value": outputs}
        )
        return sum(np.sum(weights[path] * output) for path, output in named.items())

    record = network.record(inputs, cotangents)
    found = {**record.input_gradients, **record.parameter_gradients}
    arrays = {**{str(i): a for i, a in enumerate(inputs)}, **network.parameters}
    assert list(record.parameter_gradients) == list(parameter_shapes(config))
    for key, array in arrays.items():
        slope = np.empty_like(array)
        for index in np.ndindex(array.shape):
            kept, step = array[index], 1e-6
            array[index] = kept + step
            upper = total()
            array[index] = kept - step
            slope[index] = (upper - total()) / (2 * step)
            array[index] = kept
        # a central difference keeps about half of the digits
        assert np.abs(slope - found[key]).max() <= np.sqrt(default_tolerance("float64").atol), key


def test_float64_graph_holds_no_float32(siblings):
    import tensorflow as tf

    actor = siblings["tf"].make_actor(ACTOR, dtype="float64")
    critic = siblings["tf"].make_twin_critic(CRITIC, dtype="float64")

    @tf.function
    def both(observation):
        return critic(observation, actor(observation))

    graph = both.get_concrete_function(tf.TensorSpec([None, 3], tf.float64)).graph
    dtypes = [output.dtype for op in graph.get_operations() for output in op.outputs]
    assert tf.float64 in dtypes
    assert tf.float32 not in dtypes


@pytest.mark.parametrize("jit_compile", [False, True])
def test_misuse_is_refused_while_tracing(siblings, jit_compile):
    import tensorflow as tf

    critic = siblings["tf"].make_twin_critic(CRITIC, dtype="float32")
    function = tf.function(
        lambda *inputs: critic(*inputs), autograph=False, jit_compile=jit_compile
    )
    with pytest.raises(ShapeError, match=r"action has shape \(5, 1\), expected \[B, 2\]"):
        function(tf.ones([5, 3]), tf.ones([5, 1]))
    with pytest.raises(DtypeError, match="observation is float64, expected the network's float32"):
        function(tf.ones([5, 3], tf.float64), tf.ones([5, 2]))
    assert function(tf.ones([5, 3]), tf.ones([5, 2]))[0].shape == (5,)


def test_unknown_batch_size_can_be_traced(siblings):
    import tensorflow as tf

    critic = siblings["tf"].make_twin_critic(CRITIC, dtype="float32")
    spec = [tf.TensorSpec([None, 3]), tf.TensorSpec([None, 2])]
    function = tf.function(lambda *inputs: critic(*inputs), input_signature=spec)
    for batch in (1, 13):
        assert function(tf.ones([batch, 3]), tf.ones([batch, 2]))[0].shape == (batch,)


@pytest.mark.parametrize("side", SIDES)
def test_transposed_kernel_is_never_reshaped_to_fit(siblings, side):
    impl, values = siblings[side], drawn(MLP)
    network = impl.make_mlp(MLP, dtype="float64")
    before = impl.canonical(impl.network_parameters(network))
    with pytest.raises(ShapeError, match=r"l1/kernel has shape \(11, 3\)"):
        impl.load_parameters(network, {**values, "l1/kernel": values["l1/kernel"].T})
    after = impl.canonical(impl.network_parameters(network))
    for key, value in before.items():
        np.testing.assert_array_equal(after[key], value)  # refused before anything was set


def test_max_action_moves_and_copies_with_the_torch_actor(siblings):
    import copy

    import torch

    actor = siblings["torch"].make_actor(ACTOR, dtype="float32")
    assert "max_action" not in actor.state_dict()  # a constant of the task, not a weight
    assert copy.deepcopy(actor).max_action is not actor.max_action
    assert actor.to(torch.float64).max_action.dtype is torch.float64


@pytest.mark.parametrize("side", ["torch", "tf"])
@pytest.mark.parametrize("device", ["cuda:63", "tpu", "cpu:1", "cuda:x"])
def test_absent_device_is_refused(siblings, side, device):
    with pytest.raises(ConfigError, match=f"device='{device}'"):
        siblings[side].make_actor(ACTOR, dtype="float32", device=device)


def test_torch_networks_trace_without_a_graph_break(siblings):
    import torch

    actor = siblings["torch"].make_actor(ACTOR, dtype="float64")
    critic = siblings["torch"].make_twin_critic(CRITIC, dtype="float64")

    def both(observation):
        return critic(observation, actor(observation))

    (x,) = (torch.tensor(a) for a in rows(3))
    compiled = torch.compile(both, fullgraph=True, backend="eager")
    for plain, traced in zip(both(x), compiled(x), strict=True):
        assert torch.equal(plain, traced)


def test_configs_are_hashable_and_equal_by_value():
    assert len({ACTOR, ActorConfig(3, 2, (11, 7), (2.0, 0.4)), CRITIC}) == 2
    assert ActorConfig(3, 2).bounds == (1.0, 1.0)
    assert CriticConfig(3, 2).mlp == MLPConfig(5, (256, 256), 1)


@pytest.mark.parametrize("case", COMPONENT.errors, ids=lambda case: case.id)
@pytest.mark.parametrize(("side", "dtype"), RUNS)
def test_misuse_is_refused_alike(siblings, case, side, dtype):
    with pytest.raises(case.error, match=case.match) as caught:
        case.call(Side(side, siblings[side], get_backend(side), dtype))
    assert caught.type is case.error
