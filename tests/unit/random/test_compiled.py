"""Draws inside compiled steps: ``torch.compile(fullgraph=True)``, ``tf.function`` and XLA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parity.random import Stream
from parity.tolerance import DEFAULTS
from tests.unit.random.conftest import EXACT_DRAWS, NORMAL_DRAWS, normals_apart

STREAM = Stream(7).split("compiled")
SEEDS = (7, 8, 2**64 - 1)
STEPS = (0, 5, -3)
P = np.array([0.1, 0.0, 0.2, 0.7], np.float32)
LOGITS = np.log(np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], np.float32))
#: Around a vector's width: compilers have one kernel for whole vectors and one for the rest.
COUNTS = (1, 19, 101)


def exact_step(stream: Any, step: Any, size: Any, p: Any, logits: Any) -> list[Any]:
    """What a training step draws: streams derived inside, bounds and probabilities as tensors."""
    s = stream.split("step").fold_in(step)
    return [
        *(s.bits(count) for count in COUNTS),
        s.bits(7, dtype="uint32"),
        s.uniform(19, low=-0.3, high=0.4),
        s.uniform((7, 13), low=-0.3, high=0.4, dtype="float64"),
        s.integers(19, 0, size),
        s.integers(13, -(2**63), 2**63),
        s.permutation(101),
        s.choice(4, 13, p=p),
        s.choice(4, 3, p=[0.1, 0.0, 0.2, 0.7], replace=False),
        s.categorical(logits, shape=(5,)),
        s.dropout_mask(0.3, (3, 7)),
    ]


def normal_step(stream: Any, step: Any) -> list[Any]:
    s = stream.split("step").fold_in(step)
    return [s.normal((7, 13)), s.normal(3), s.normal((7, 13), dtype="float64")]


def assert_exact(there: list[Any], here: list[Any]) -> None:
    assert len(there) == len(here) > 0
    for k, (left, right) in enumerate(zip(there, here, strict=True)):
        np.testing.assert_array_equal(np.asarray(left), right, err_msg=f"draw {k}")


def assert_normal(there: list[Any], here: list[Any]) -> None:
    assert len(there) == len(here) > 0
    for left, right in zip(there, here, strict=True):
        assert normals_apart(np.asarray(left), right) <= 1


@pytest.fixture
def tf() -> Any:
    return pytest.importorskip("tensorflow")


@pytest.fixture
def torch() -> Any:
    torch = pytest.importorskip("torch")
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    return torch


def graphs(torch: Any) -> int:
    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])


@pytest.mark.slow
def test_torch_compile_draws_the_same_for_every_seed_and_step_from_one_graph(torch):
    compiled = torch.compile(exact_step, fullgraph=True)
    size, p, logits = torch.tensor(1000), torch.tensor(P), torch.tensor(LOGITS)
    for seed in SEEDS:
        for step in STEPS:
            host = Stream(seed)
            there = compiled(host.torch(), torch.tensor(step), size, p, logits)
            assert_exact(there, exact_step(host, step, 1000, P, LOGITS))
    assert graphs(torch) == 1  # neither a seed nor a step is frozen into it


@pytest.mark.slow
def test_torch_compile_of_normals_and_of_a_closed_over_stream(torch):
    stream = STREAM.torch()
    compiled = torch.compile(lambda step: normal_step(stream, step), fullgraph=True)
    for step in (0, 1, 2, 2**40):
        assert_normal(compiled(torch.tensor(step)), normal_step(STREAM, step))
    assert graphs(torch) == 1


@pytest.mark.slow
def test_torch_compile_with_python_steps_and_unknown_batch_sizes(torch):
    """A Python step is frozen or becomes symbolic, a batch size symbolic: the bits stay."""
    stream = STREAM.torch()
    compiled = torch.compile(lambda x, k: x + stream.fold_in(k).uniform(x.shape), fullgraph=True)
    for rows, step in ((3, 0), (5, 1), (7, 2), (11, 2**62), (13, -3)):
        there = compiled(torch.zeros(rows, 2), step)
        np.testing.assert_array_equal(there, STREAM.fold_in(step).uniform((rows, 2)))


@pytest.mark.slow
def test_torch_compile_inside_a_module_with_the_stream_as_buffer(torch):
    class Noisy(torch.nn.Module):
        def __init__(self, stream: Any) -> None:
            super().__init__()
            self.register_buffer("noise", stream.torch().state)
            self.register_buffer("calls", torch.tensor(0))

        def forward(self, x: Any) -> Any:
            from parity.random.torch_random import TorchStream

            self.calls += 1
            return x * TorchStream(self.noise).fold_in(self.calls).dropout_mask(0.5, x.shape)

    module = Noisy(STREAM)
    compiled = torch.compile(module, fullgraph=True)
    for call in (1, 2, 3):
        there = compiled(torch.ones(7, 3))
        np.testing.assert_array_equal(there, STREAM.fold_in(call).dropout_mask(0.5, (7, 3)))
    restored = Noisy(Stream(0))
    restored.load_state_dict(module.state_dict())
    there = restored(torch.ones(7, 3))
    np.testing.assert_array_equal(there, STREAM.fold_in(4).dropout_mask(0.5, (7, 3)))


@pytest.mark.parametrize("xla", [False, True], ids=["graph", "xla"])
def test_tf_function_draws_the_same_for_every_seed_and_step_from_one_trace(tf, xla):
    traces = []

    def counted(stream: Any, step: Any, size: Any, p: Any, logits: Any) -> list[Any]:
        traces.append(1)
        return exact_step(stream, step, size, p, logits)

    compiled = tf.function(counted, jit_compile=xla, autograph=False)
    size, p, logits = tf.constant(1000), tf.constant(P), tf.constant(LOGITS)
    for seed in SEEDS:
        for step in STEPS:
            host = Stream(seed)
            there = compiled(host.tf(), tf.constant(step, tf.int64), size, p, logits)
            assert_exact(there, exact_step(host, step, 1000, P, LOGITS))
    assert len(traces) == 1


@pytest.mark.parametrize("xla", [False, True], ids=["graph", "xla"])
@pytest.mark.parametrize("draws", [EXACT_DRAWS, NORMAL_DRAWS], ids=["exact", "normal"])
def test_tf_function_of_every_draw(tf, draws: dict[str, Callable[[Any], Any]], xla: bool):
    stream = STREAM.tf()
    compiled = tf.function(
        lambda: [draw(stream) for draw in draws.values()], jit_compile=xla, autograph=False
    )
    check = assert_exact if draws is EXACT_DRAWS else assert_normal
    check(compiled(), [draw(STREAM) for draw in draws.values()])


def test_tf_graphs_hold_every_constant_exactly(tf):
    """Names and steps as constants of a graph, above and below 2^63 (see ``_pairs``)."""
    stream = STREAM.tf()
    steps = (0, 5, -1, 2**63 - 1, 2**63 + 1, 2**64 - 1)
    names = [f"name-{k}" for k in range(20)]

    @tf.function(autograph=False)
    def states() -> list[Any]:
        children = [stream.fold_in(step) for step in steps] + [stream.split(n) for n in names]
        return [child.state for child in children]

    wanted = [STREAM.fold_in(step) for step in steps] + [STREAM.split(name) for name in names]
    assert_exact(states(), [child.to_array().view(np.uint64) for child in wanted])


def test_tf_loops_conditions_and_variables(tf):
    """Under AutoGraph, with a loop counter and a variable as steps."""
    stream, calls = STREAM.tf(), tf.Variable(0, dtype=tf.int64)

    @tf.function
    def total() -> Any:
        calls.assign_add(1)
        result = tf.zeros([3], tf.float64)
        for i in tf.range(5):
            if stream.fold_in(i).bernoulli(0.5, ()):
                result += stream.fold_in(calls).split("x").uniform(3, dtype="float64")
        return result

    for call in (1, 2):
        taken = sum(bool(STREAM.fold_in(i).bernoulli(0.5, ())) for i in range(5))
        assert taken > 0
        each = STREAM.fold_in(call).split("x").uniform(3, dtype="float64")
        assert np.abs(total() - taken * each).max() <= DEFAULTS["float64"].atol


def test_tf_xla_would_draw_other_floats_from_the_same_words(tf):
    """Why the graph path avoids TensorFlow's own uniform. If this fails, that detour can go."""

    def native(seed: Any) -> Any:
        return tf.random.stateless_uniform((101,), seed, alg="philox")

    seed = tf.constant((7, 0), tf.int64)  # an argument: a constant would be folded before XLA
    plain = tf.function(native, autograph=False)(seed)
    compiled = tf.function(native, jit_compile=True, autograph=False)(seed)
    assert np.mean(plain.numpy() == compiled.numpy()) < 0.1
