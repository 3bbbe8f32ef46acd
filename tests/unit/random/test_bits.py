"""The same bits in NumPy, torch and TensorFlow, and those of TensorFlow's own operations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parity.backends import to_numpy
from parity.random import Stream
from tests.unit.random.conftest import normals_apart

STREAM = Stream(7).split("bits").fold_in(3)
FULL = {"uint32": "uint32", "int32": "int32", "uint64": "uint64", "int64": "int64"}


def test_every_draw_is_equal_to_the_bit(exact_draw, framework_view):
    there = to_numpy(exact_draw(framework_view(STREAM)))
    here = exact_draw(STREAM)
    assert there.dtype == here.dtype
    assert there.shape == here.shape
    np.testing.assert_array_equal(there, here)


def test_normals_are_equal_to_a_few_units(normal_draw, framework_view):
    there, here = to_numpy(normal_draw(framework_view(STREAM))), normal_draw(STREAM)
    assert normals_apart(there, here) <= 1


def test_large_draws_cross_chunks(framework_view):
    """Torch and NumPy compute in chunks: values around each boundary, and a ragged end."""
    count = 4 * 2 * 32768 + 5
    there = to_numpy(framework_view(STREAM).bits(count, dtype="uint32"))
    np.testing.assert_array_equal(there, STREAM.bits(count, dtype="uint32"))
    low = np.arange(70001)
    there = to_numpy(framework_view(STREAM).integers(70001, low, 2 * low + 1))
    np.testing.assert_array_equal(there, STREAM.integers(70001, low, 2 * low + 1))


@settings(max_examples=25)
@given(
    seed=st.integers(-(2**63), 2**64 - 1),
    step=st.integers(-(2**63), 2**64 - 1),
    name=st.text(min_size=1, max_size=40),
)
def test_derivation_is_equal(seed, step, name):
    pytest.importorskip("torch")
    pytest.importorskip("tensorflow")
    here = Stream(seed).split(name).fold_in(step)
    assert Stream(seed).torch().split(name).fold_in(step).numpy() == here
    assert Stream(seed).tf().split(name).fold_in(step).numpy() == here


def test_a_step_may_be_a_tensor():
    torch, tf = pytest.importorskip("torch"), pytest.importorskip("tensorflow")
    for step in (0, 1, 12345, -1, 2**31 - 1, -(2**63), 2**63 - 1):
        here = STREAM.fold_in(step)
        assert STREAM.torch().fold_in(torch.tensor(step)).numpy() == here
        assert STREAM.tf().fold_in(tf.constant(step, tf.int64)).numpy() == here
    small = -7  # narrower dtypes count by value
    assert STREAM.torch().fold_in(torch.tensor([small], dtype=torch.int32)).numpy() == (
        STREAM.fold_in(small)
    )
    assert STREAM.tf().fold_in(tf.Variable(small, dtype=tf.int32)).numpy() == STREAM.fold_in(small)


@pytest.mark.parametrize("seed", [(7, 0), (0, 0), (-1, 5), (2**63 - 1, -(2**63))])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniforms_are_tensorflows(seed, dtype):
    tf = pytest.importorskip("tensorflow")
    ours = Stream.from_tf_seed(seed).uniform((13, 7), dtype=dtype)
    theirs = tf.random.stateless_uniform(
        (13, 7), tf.constant(seed, tf.int64), dtype=dtype, alg="philox"
    )
    np.testing.assert_array_equal(ours, theirs)
    ours = Stream.from_tf_seed(seed).uniform((13, 7), low=-0.3, high=1.7, dtype=dtype)
    theirs = tf.random.stateless_uniform(
        (13, 7), tf.constant(seed, tf.int64), -0.3, 1.7, dtype, alg="philox"
    )
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", FULL)
def test_bits_are_tensorflows(dtype):
    tf = pytest.importorskip("tensorflow")
    theirs = tf.random.stateless_uniform(
        (101,), seed=(7, 0), minval=None, maxval=None, dtype=dtype, alg="philox"
    )
    np.testing.assert_array_equal(Stream(7).bits(101, dtype=dtype), theirs)


def test_a_tensorflow_generator_in_the_same_state_draws_the_same():
    tf = pytest.importorskip("tensorflow")
    k0, k1, c2, c3 = STREAM.words
    state = np.array([0, c3 << 32 | c2, k1 << 32 | k0], np.uint64).view(np.int64)
    generator = tf.random.Generator.from_state(tf.constant(state), alg="philox")
    np.testing.assert_array_equal(generator.uniform((101,)), STREAM.uniform(101))


def test_eager_uniform_takes_the_kernel_and_graphs_the_words():
    """The two ways of TensorFlow's side, on the bounds of a block and on one value."""
    tf = pytest.importorskip("tensorflow")
    view = STREAM.tf()
    for dtype in ("float32", "float64"):
        for count in (0, 1, 2, 3, 4, 5, 101):
            graph = tf.function(view.uniform)(count, dtype=dtype)
            np.testing.assert_array_equal(graph, view.uniform(count, dtype=dtype))
