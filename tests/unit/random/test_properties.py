"""What holds for every stream and every draw."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.backends import to_numpy
from parity.random import Stream, philox

STREAM = Stream(13).split("properties")
PREFIX_DRAWS = {
    "bits32": lambda s, n: s.bits(n, dtype="uint32"),
    "bits64": lambda s, n: s.bits(n),
    "uniform32": lambda s, n: s.uniform(n),
    "uniform64": lambda s, n: s.uniform(n, dtype="float64"),
    "normal32": lambda s, n: s.normal(n),
    "normal64": lambda s, n: s.normal(n, dtype="float64"),
    "integers": lambda s, n: s.integers(n, -3, 11),
    "integers32": lambda s, n: s.integers(n, -3, 11, dtype="int32"),
    "bernoulli": lambda s, n: s.bernoulli(0.4, n),
    "dropout": lambda s, n: s.dropout_mask(0.4, n),
    "choice": lambda s, n: s.choice(11, n),
    "choice by p": lambda s, n: s.choice(3, n, p=[0.2, 0.5, 0.3]),
    "choice without replacement": lambda s, n: s.choice(211, n, replace=False),
    "categorical": lambda s, n: s.categorical(np.array([0.1, 2.0, -1.0]), shape=n),
}


@pytest.mark.parametrize("draw", PREFIX_DRAWS.values(), ids=PREFIX_DRAWS)
def test_a_longer_draw_begins_with_the_shorter_one(draw, view):
    stream = view(STREAM)
    longest = to_numpy(draw(stream, 203))
    for count in (0, 1, 2, 3, 4, 5, 7, 101, 202):
        np.testing.assert_array_equal(to_numpy(draw(stream, count)), longest[:count])


@given(st.lists(st.integers(0, 5), max_size=4), st.integers(0, 2**64 - 1))
def test_a_shape_only_arranges_the_values(shape, seed):
    stream, count = Stream(seed), int(np.prod(shape))
    for draw in (stream.uniform, stream.normal, stream.bits):
        arranged = draw(tuple(shape))
        assert arranged.shape == tuple(shape)
        np.testing.assert_array_equal(arranged.reshape(-1), draw(count))


def test_rows_added_to_a_batch_leave_the_others(view):
    stream = view(STREAM)
    few, many = (to_numpy(stream.uniform((rows, 3))) for rows in (5, 11))
    np.testing.assert_array_equal(few, many[:5])


def test_drawing_leaves_no_trace(view):
    """No global state: any draws in between change nothing, and NumPy's own state stays."""
    stream, before = view(STREAM), repr(np.random.get_state())
    first = to_numpy(stream.uniform(7))
    stream.normal(3)
    view(Stream(99)).permutation(5)
    np.testing.assert_array_equal(to_numpy(stream.uniform(7)), first)
    assert repr(np.random.get_state()) == before


def unique_rows(states: np.ndarray) -> int:
    return len(np.unique(np.ascontiguousarray(states, np.uint32).view("V16")))


def children(words: tuple, domain: int, data: tuple) -> np.ndarray:
    """Many children at once, by the formula that ``split`` and ``fold_in`` use."""
    counter, key = philox.child_inputs(words, domain, data)
    lanes = philox.blocks(
        tuple(np.asarray(c, np.uint64) for c in counter),
        tuple(np.asarray(k, np.uint64) for k in key),
    )
    return np.stack(lanes, axis=1)


def test_a_million_splits_and_folds_never_collide():
    """A thousand names by a thousand steps, together with the root's other children."""
    root = STREAM.words
    named = [STREAM.split(f"name-{k}") for k in range(1000)]
    names = np.array([child.words for child in named], np.uint64).T
    steps = np.arange(1000, dtype=np.uint64)
    zero = np.zeros(1, np.uint64)
    pairs = children(
        tuple(np.repeat(part, 1000) for part in names),
        philox.FOLD_DOMAIN,
        (np.tile(steps, 1000), zero, zero, zero),
    )
    assert pairs.shape == (1_000_000, 4)
    assert tuple(pairs[123_456].tolist()) == named[123].fold_in(456).words  # the same formula
    folded = children(root, philox.FOLD_DOMAIN, (np.arange(10_000, dtype=np.uint64), 0, 0, 0))
    everything = np.concatenate([pairs, names.T, folded, np.array([root], np.uint64)])
    assert unique_rows(everything) == 1_000_000 + 1000 + 10_000 + 1


def test_a_million_random_pairs_of_seed_and_step_never_collide():
    drawn = STREAM.split("pairs").bits((1_000_000, 2), dtype="uint32").astype(np.uint64)
    zeros = (np.zeros(1, np.uint64),) * 3
    seeded = philox.blocks((drawn[:, 0], *zeros), philox.SEED_KEY)
    words = tuple(lane.view(np.uint64) for lane in seeded)
    states = children(words, philox.FOLD_DOMAIN, (drawn[:, 1], *zeros))
    pairs = len(np.unique(drawn[:, 0] << np.uint64(32) | drawn[:, 1]))
    assert pairs > 999_000
    assert unique_rows(states) == pairs


@given(
    st.tuples(st.integers(0, 2**64 - 1), st.text(min_size=1)),
    st.tuples(st.integers(0, 2**64 - 1), st.text(min_size=1)),
)
def test_different_origins_are_different_streams(one, other):
    left, right = Stream(one[0]).split(one[1]), Stream(other[0]).split(other[1])
    assert (left == right) == (one == other)
    assert Stream(one[0]) != left
    assert left.split("a").split("b") != left.split("b").split("a")
    assert left.fold_in(1) != left.split("1")


@given(st.integers(0, 2**64 - 1))
def test_a_stream_survives_a_checkpoint(seed):
    stream = Stream(seed).fold_in(5)
    saved = stream.to_array()
    assert (saved.dtype, saved.shape) == (np.uint32, (4,))
    for restored in (
        Stream.from_array(saved),
        Stream.from_array(saved.astype(np.int64)),
        pickle.loads(pickle.dumps(stream)),
        copy.deepcopy(stream),
    ):
        assert restored == stream
        assert hash(restored) == hash(stream)
        np.testing.assert_array_equal(restored.uniform(3), stream.uniform(3))


def test_framework_views_hold_the_same_state():
    torch, tf = pytest.importorskip("torch"), pytest.importorskip("tensorflow")
    from parity.random.tf_random import TFStream
    from parity.random.torch_random import TorchStream

    saved = STREAM.to_array()
    assert STREAM.torch().state.tolist() == saved.tolist()
    assert STREAM.tf().state.numpy().view(np.uint32).tolist() == saved.tolist()
    assert TorchStream(torch.tensor(saved.astype(np.int64))).numpy() == STREAM
    assert TFStream(tf.constant(saved.view(np.uint64))).numpy() == STREAM


def test_negative_seeds_are_twos_complement():
    assert Stream(-1) == Stream(2**64 - 1)
    assert STREAM.fold_in(-1) == STREAM.fold_in(2**64 - 1)
    assert STREAM.fold_in(np.int32(-1)) == STREAM.fold_in(-1)


def test_environment_seeds_fit_every_environment():
    seeds = [STREAM.fold_in(k).environment_seed() for k in range(101)]
    assert all(type(seed) is int and 0 <= seed < 2**31 for seed in seeds)
    assert len(set(seeds)) == 101


def test_the_first_values_are_for_ever():
    """Recorded once: a change of any of these changes every user's experiments."""
    stream = Stream(2026).split("golden").fold_in(7)
    assert stream.words == (495653427, 3076971598, 495771658, 2760907895)
    assert stream.bits(2, dtype="uint32").tolist() == [493354460, 830395403]
    assert stream.integers(5, 0, 100).tolist() == [76, 38, 93, 55, 43]
    assert stream.permutation(7).tolist() == [6, 2, 1, 4, 5, 0, 3]
    assert stream.uniform(2).tolist() == [0.8124346733093262, 0.9908460378646851]
    normals = stream.normal(2, dtype="float64")
    assert np.abs(normals - [1.0889013648764354, 0.4501988313426688]).max() < 2.0**-50


def test_importing_the_package_imports_no_framework():
    code = (
        "import sys, parity.random, parity.random.initializers; "
        "parity.random.Stream(1).split('a').normal(3); "
        "print([m for m in ('torch', 'tensorflow', 'keras', 'jax') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(("view_name", "package"), [("torch", "torch"), ("tf", "tensorflow")])
def test_a_missing_framework_is_named(view_name, package):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from parity.errors import MissingFramework\n"
        "from parity.random import Stream\n"
        f"try: Stream(1).{view_name}()\n"
        "except MissingFramework as error: print(error)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert f"pip install 'parity[{view_name}]'" in result.stdout
