"""Misuse is refused by every implementation with the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parity.errors import InvalidInput
from parity.random import Stream, initializers

STREAM = Stream(1)
NAN, INF = float("nan"), float("inf")

#: call -> a part of the message
MISUSES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "half": (
        lambda s: s.uniform(3, dtype="float16"),
        "dtype='float16': known are float32, float64",
    ),
    "whole normal": (lambda s: s.normal(3, dtype="int32"), "dtype='int32'"),
    "float integers": (lambda s: s.integers(3, 0, 5, dtype="float32"), "known are int32, int64"),
    "unsigned integers": (lambda s: s.integers(3, 0, 5, dtype="uint32"), "known are int32, int64"),
    "float bits": (lambda s: s.bits(3, dtype="float32"), "dtype='float32'"),
    "dtype object": (lambda s: s.bits(3, dtype=np.int32), "known are int32, int64, uint32, uint64"),
    "dropout dtype": (lambda s: s.dropout_mask(0.5, 3, dtype="int32"), "dtype='int32'"),
    "negative size": (lambda s: s.uniform((3, -1)), "shape=(3, -1): sizes are known whole numbers"),
    "negative count": (lambda s: s.normal(-2), "at least 0"),
    "fraction": (lambda s: s.bits((2.5,)), "shape=(2.5,)"),
    "truth": (lambda s: s.bits((True,)), "shape=(True,)"),
    "unknown size": (lambda s: s.bernoulli(0.5, (None, 3)), "shape=(None, 3)"),
    "text": (lambda s: s.uniform("3"), "a shape is a whole number or a tuple of them"),
    "negative permutation": (lambda s: s.permutation(-1), "n=-1"),
    "permutation of a list": (lambda s: s.permutation([1, 2]), "n=[1, 2]"),
    "empty floats": (lambda s: s.uniform(3, low=1.0, high=1.0), "low must be below high"),
    "nan bound": (lambda s: s.uniform(3, low=NAN), "both finite"),
    "infinite bound": (lambda s: s.uniform(3, high=INF), "both finite"),
    "too wide": (lambda s: s.uniform(3, low=-3e38, high=3e38), "overflows float32"),
    "empty range": (lambda s: s.integers(3, 5, 5), "low=5, high=5: the range is empty"),
    "reversed range": (lambda s: s.integers(3, 5, 2), "the range is empty"),
    "one empty range": (lambda s: s.integers(2, [0, 7], 7), "low=7, high=7: the range is empty"),
    "beyond int32": (lambda s: s.integers(3, 0, 2**31 + 1, dtype="int32"), "does not fit int32"),
    "beyond int64": (lambda s: s.integers(3, 0, 2**63 + 1), "does not fit int64"),
    "row beyond int32": (lambda s: s.integers(2, [0, 1], 2**40, dtype="int32"), "not fit int32"),
    "float bounds": (lambda s: s.integers(3, 0.0, 5.0), "bounds are whole numbers"),
    "bounds too many": (lambda s: s.integers(3, [0, 0], 5), "does not broadcast to (3,)"),
    "bounds apart": (lambda s: s.integers(3, [0, 0], [5, 5, 5]), "shapes differ"),
    "rate": (lambda s: s.bernoulli(1.5, 3), "p=1.5: must be in [0, 1]"),
    "nan rate": (lambda s: s.bernoulli(NAN, 3), "must be in [0, 1]"),
    "rates": (lambda s: s.bernoulli([0.5, -0.1, 0.0], 3), "must be in [0, 1]"),
    "rates of another shape": (lambda s: s.bernoulli([0.5, 0.5], 3), "does not broadcast to (3,)"),
    "rate in words": (lambda s: s.bernoulli(["a"], 1), "probabilities are numbers"),
    "full dropout": (lambda s: s.dropout_mask(1.0, 3), "rate=1.0: must be in [0, 1)"),
    "choice of nothing": (lambda s: s.choice(0, 1), "nothing to choose 1 from"),
    "negative population": (lambda s: s.choice(-1, 0), "n=-1"),
    "too many": (lambda s: s.choice(5, 7, replace=False), "cannot choose 7 from n=5"),
    "too many in a shape": (
        lambda s: s.choice(5, (2, 3), replace=False),
        "cannot choose 6 from n=5",
    ),
    "sum below": (lambda s: s.choice(3, 1, p=[0.2, 0.3, 0.4]), "p sums to 0.9"),
    "sum above": (lambda s: s.choice(2, 1, p=np.array([0.7, 0.4])), "p sums to 1.1"),
    "negative p": (lambda s: s.choice(2, 1, p=[1.5, -0.5]), "finite and at least 0"),
    "nan p": (lambda s: s.choice(2, 1, p=[NAN, 1.0]), "finite and at least 0"),
    "short p": (lambda s: s.choice(3, 1, p=[0.5, 0.5]), "one probability for each of n=3 items"),
    "p of rank 2": (lambda s: s.choice(2, 1, p=np.full((2, 1), 0.5)), "p has shape (2, 1)"),
    "p in words": (lambda s: s.choice(2, 1, p=["a", "b"]), "a list of numbers is needed"),
    "too few with p": (
        lambda s: s.choice(3, 2, p=[1.0, 0.0, 0.0], replace=False),
        "1 items have p > 0",
    ),
    "whole logits": (lambda s: s.categorical(np.array([1, 2])), "floating numbers are needed"),
    "no class": (lambda s: s.categorical(np.zeros((3, 0))), "the last axis is 1 to"),
    "scalar logit": (lambda s: s.categorical(np.array(1.0)), "the last axis is 1 to"),
    "nan logit": (lambda s: s.categorical(np.array([0.0, NAN])), "NaN and +inf"),
    "infinite logit": (lambda s: s.categorical(np.array([0.0, INF])), "NaN and +inf"),
    "masked row": (
        lambda s: s.categorical(np.array([[0.0, 1.0], [-INF, -INF]])),
        "no finite entry",
    ),
    "unnamed": (lambda s: s.split(""), "non-empty string"),
    "split by number": (lambda s: s.split(3), "name=3"),
    "fold in a fraction": (lambda s: s.fold_in(0.5), "step=0.5: a whole number is needed"),
    "fold in truth": (lambda s: s.fold_in(True), "step=True"),
    "fold in too much": (lambda s: s.fold_in(2**64), "at most 64 bits"),
}


@pytest.mark.parametrize(("call", "words"), MISUSES.values(), ids=MISUSES)
def test_misuse_is_refused_alike(call, words, view):
    with pytest.raises(InvalidInput) as here:
        call(STREAM)
    with pytest.raises(InvalidInput) as there:
        call(view(STREAM))
    assert words in str(here.value)
    assert str(there.value) == str(here.value)


TENSOR_MISUSES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "fold in floats": (lambda s, t: s.fold_in(t(0.5)), "one whole number is needed"),
    "fold in many": (lambda s, t: s.fold_in(t([1, 2])), "one whole number is needed"),
    "float bounds": (lambda s, t: s.integers(3, 0, t(5.0)), "high: bounds are whole numbers"),
    "bounds of another shape": (lambda s, t: s.integers(3, t([0, 0]), 5), "low of shape (2,)"),
    "whole rates": (lambda s, t: s.bernoulli(t([1]), 3), "p: probabilities are floating numbers"),
    "rates of another shape": (lambda s, t: s.bernoulli(t([0.5, 0.5]), 3), "p of shape (2,)"),
    "short p": (lambda s, t: s.choice(3, 1, p=t([0.5, 0.5])), "each of n=3 items"),
    "too many": (
        lambda s, t: s.choice(2, 3, p=t([0.5, 0.5]), replace=False),
        "cannot choose 3 from n=2",
    ),
    "whole logits": (lambda s, t: s.categorical(t([1, 2])), "floating numbers are needed"),
    "scalar logit": (lambda s, t: s.categorical(t(1.0)), "the last axis is 1 to"),
}


@pytest.mark.parametrize(("call", "words"), TENSOR_MISUSES.values(), ids=TENSOR_MISUSES)
def test_misuse_of_tensors_is_refused(call, words, framework_view):
    stream = framework_view(STREAM)

    def tensor(value: Any) -> Any:
        array = np.asarray(value)
        return stream._ops.asarray(array, array.dtype.name)

    with pytest.raises(InvalidInput) as error:
        call(stream, tensor)
    assert words in str(error.value)


@pytest.mark.parametrize("seed", ["7", 7.0, True, None, 2**64, -(2**63) - 1])
def test_seeds_are_64_bits(seed):
    with pytest.raises(InvalidInput, match="seed="):
        Stream(seed)
    with pytest.raises(InvalidInput, match="seed="):
        Stream.from_tf_seed((seed, 0))


@pytest.mark.parametrize("seed", [7, (7,), (1, 2, 3)])
def test_tensorflow_seeds_are_two_numbers(seed):
    with pytest.raises(InvalidInput, match="two numbers"):
        Stream.from_tf_seed(seed)


@pytest.mark.parametrize(
    "state", [[1, 2, 3], [[1, 2, 3, 4]], [1.0, 2.0, 3.0, 4.0], [-1, 2, 3, 4], [2**32, 2, 3, 4]]
)
def test_states_are_four_words(state):
    with pytest.raises(InvalidInput, match="state"):
        Stream.from_array(np.array(state))


def test_framework_states_are_four_words():
    torch, tf = pytest.importorskip("torch"), pytest.importorskip("tensorflow")
    from parity.random.tf_random import TFStream
    from parity.random.torch_random import TorchStream

    for state in (torch.zeros(3, dtype=torch.int64), torch.zeros(4)):
        with pytest.raises(InvalidInput, match=r"int64 \[4\]"):
            TorchStream(state)
    for state in (tf.zeros([3], tf.uint64), tf.zeros([2], tf.int64)):
        with pytest.raises(InvalidInput, match=r"uint64 \[2\]"):
            TFStream(state)


def test_unknown_sizes_are_refused_while_tracing():
    tf = pytest.importorskip("tensorflow")
    stream = STREAM.tf()
    traced = tf.function(lambda x: stream.uniform(x.shape), autograph=False)
    with pytest.raises(InvalidInput, match=r"shape=\(None, 3\)"):
        traced.get_concrete_function(tf.TensorSpec([None, 3]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: initializers.kaiming_uniform(STREAM, (3,)), "two or more axes"),
        (lambda: initializers.glorot_uniform(STREAM, (3, 0)), "none of them empty"),
        (lambda: initializers.kaiming_uniform(STREAM, (3, 2), mode="fan"), "mode='fan'"),
        (lambda: initializers.orthogonal(STREAM, (3, 2), dtype="float16"), "dtype='float16'"),
        (lambda: initializers.glorot_uniform(STREAM, (3, 2), dtype="int32"), "dtype='int32'"),
        (lambda: initializers.fan_in_uniform(STREAM, 3, 0), "fan_in=0"),
    ],
)
def test_initializers_refuse(call, words):
    with pytest.raises(InvalidInput) as error:
        call()
    assert words in str(error.value)
