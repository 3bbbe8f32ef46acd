"""What the whole-number draws are, against plain integer arithmetic and against their promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.backends import to_numpy
from parity.random import Stream

STREAM = Stream(3).split("selections")
RANGES = [
    (0, 1), (0, 2), (-5, 17), (0, 2**31 - 1), (0, 2**31), (-1, 2**32), (0, 2**32 + 1),
    (-(2**62), 2**62), (-(2**63), 2**63 - 1), (-(2**63), 2**63), (2**63 - 3, 2**63),
]  # fmt: skip


def scaled(stream: Stream, count: int, low: int, high: int) -> list[int]:
    """The definition on Python's integers: a block, word 0 lowest, times the width, shifted."""
    words = stream.bits((count, 4), dtype="uint32").tolist()
    blocks = [sum(word << (32 * k) for k, word in enumerate(row)) for row in words]
    return [low + (block * (high - low) >> 128) for block in blocks]


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_integers_are_the_scaled_block(low, high, view):
    drawn = to_numpy(view(STREAM).integers(101, low, high)).tolist()
    assert drawn == scaled(STREAM, 101, low, high)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(1, 2**64), st.integers(0, 2**64 - 1))
def test_integers_of_any_range(low, width, seed):
    high = min(low + width, 2**63)
    assert Stream(seed).integers(5, low, high).tolist() == scaled(Stream(seed), 5, low, high)


@given(st.integers(-(2**63), 2**63 - 2), st.integers(1, 2**63 - 1), st.integers(0, 2**64 - 1))
def test_integers_between_arrays(low, width, seed):
    """Bounds as arrays take another way to the same numbers."""
    high = min(low + width, 2**63 - 1)
    drawn = Stream(seed).integers(5, np.full(5, low), np.array(high))
    assert drawn.tolist() == scaled(Stream(seed), 5, low, high)


def test_extreme_blocks_reach_both_ends_and_never_beyond():
    """All-zero and all-one blocks, through the multiplication of every width."""
    from parity.random import distributions as dist

    ops = STREAM._ops
    zeros, ones = ([np.array([word], np.int64)] * 4 for word in (0, 2**32 - 1))
    for width in (1, 2, 3, 2**31 - 1):
        assert dist.scaled_small(ops, tuple(zeros), width).tolist() == [0]
        assert dist.scaled_small(ops, tuple(ones), width).tolist() == [width - 1]
    for width in (1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**64 - 1):
        halves = (width & 0xFFFFFFFF, width >> 32)
        low, high = dist.scaled_wide(ops, tuple(zeros), halves)
        assert (low.tolist(), high.tolist()) == ([0], [0])
        low, high = dist.scaled_wide(ops, tuple(ones), halves)
        assert (int(high[0]) << 32) + int(low[0]) == width - 1


@pytest.mark.parametrize("n", [0, 1, 2, 7, 1001])
def test_a_permutation_holds_each_number_once(n, view):
    drawn = to_numpy(view(STREAM).permutation(n))
    assert drawn.dtype == np.int64
    assert sorted(drawn.tolist()) == list(range(n))


def test_all_permutations_are_equally_likely():
    counts = np.zeros(64, int)
    for step in range(6000):
        order = STREAM.fold_in(step).permutation(3)
        counts[order @ np.array([16, 4, 1])] += 1
    counts = counts[counts > 0]
    assert counts.size == 6
    assert ((counts - 1000.0) ** 2 / 1000.0).sum() < 25.7  # chi-square with 5 degrees at 1e-4


def test_choice_without_replacement_is_the_start_of_the_permutation(view):
    stream = view(STREAM)
    chosen = to_numpy(stream.choice(101, (3, 7), replace=False)).reshape(-1)
    assert chosen.tolist() == to_numpy(stream.permutation(101))[:21].tolist()


def test_choice_by_p_follows_p_and_never_takes_a_zero(view):
    p = [0.1, 0.0, 0.2, 0.0, 0.7, 0.0]
    counts = np.bincount(to_numpy(view(STREAM).choice(6, 30_000, p=p)), minlength=6)
    assert counts[[1, 3, 5]].tolist() == [0, 0, 0]
    np.testing.assert_allclose(counts / 30_000, p, atol=0.01)


def test_choice_by_p_without_replacement_draws_one_by_one_among_the_rest(view):
    """P(first, second) = p_i p_j / (1 - p_i), as by drawing twice and removing."""
    p = np.array([0.5, 0.3, 0.2, 0.0])
    rounds = 300 if view(STREAM) is not STREAM else 6000
    counts = np.zeros((4, 4))
    for step in range(rounds):
        first, second = to_numpy(view(STREAM.fold_in(step)).choice(4, 2, replace=False, p=p))
        counts[first, second] += 1
    wanted = np.where(np.eye(4), 0.0, p[:, None] * p / (1.0 - p[:, None]))
    assert np.all(counts[wanted == 0.0] == 0)
    bound = 5 * np.sqrt(0.25 / rounds)  # five deviations at most
    assert np.abs(counts / rounds - wanted).max() < bound


def test_framework_probabilities_count_relative_to_their_sum(framework_view):
    """Priorities inside a graph need not be normalised to the last bit, or at all."""
    stream = framework_view(STREAM)
    weights = stream._ops.asarray([2.0, 0.0, 6.0], "float32")
    drawn = to_numpy(stream.choice(3, 101, p=weights / 8.0))
    np.testing.assert_array_equal(drawn, STREAM.choice(3, 101, p=[0.25, 0.0, 0.75]))


def test_categorical_follows_softmax_and_respects_masks(view):
    logits = np.array([[0.0, np.log(3.0), -np.inf], [5.0, -np.inf, -np.inf]], np.float32)
    stream = view(STREAM)
    drawn = to_numpy(stream.categorical(logits, shape=20_000))
    assert drawn.shape == (20_000, 2)
    assert (drawn[:, 1] == 0).all()
    np.testing.assert_allclose(
        np.bincount(drawn[:, 0], minlength=3) / 20_000, [0.25, 0.75, 0.0], atol=0.015
    )


def test_categorical_ignores_a_shift_of_the_logits(view):
    logits = np.array([0.0, 0.5, -2.0, 1.25])
    drawn = to_numpy(view(STREAM).categorical(logits, shape=101))
    assert drawn.tolist() == STREAM.categorical(logits + 1024.0, shape=101).tolist()


def test_bernoulli_ends(view):
    stream = view(STREAM)
    assert not to_numpy(stream.bernoulli(0.0, 1001)).any()
    assert to_numpy(stream.bernoulli(1.0, 1001)).all()
    drawn = to_numpy(stream.bernoulli(0.3, 20_000))
    assert drawn.dtype == np.bool_
    assert abs(drawn.mean() - 0.3) < 0.015


def test_bernoulli_compares_words_strictly(view):
    """At ``p = word / 2^32`` a value is false, one step above it is true."""
    words = STREAM.bits(101, dtype="uint32").astype(np.float64)
    assert not to_numpy(view(STREAM).bernoulli(words / 2**32, 101)).any()
    assert to_numpy(view(STREAM).bernoulli((words + 1) / 2**32, 101)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dropout_keeps_the_mean(view, dtype):
    mask = to_numpy(view(STREAM).dropout_mask(0.25, 20_000, dtype=dtype))
    assert set(np.unique(mask).tolist()) == {0.0, float(np.dtype(dtype).type(1 / 0.75))}
    assert abs(mask.mean() - 1.0) < 0.02
    assert (to_numpy(view(STREAM).dropout_mask(0.0, 7)) == 1.0).all()


def test_frameworks_gather_no_gradient_from_logits():
    torch = pytest.importorskip("torch")
    logits = torch.zeros(3, 5, requires_grad=True)
    assert not STREAM.torch().categorical(logits).requires_grad


def test_searching_counts_equal_entries_too(view):
    """A number drawn at a running sum belongs to the next class, past those of weight zero."""
    ops = view(STREAM)._ops
    running, drawn = (ops.asarray(np.array(v), "int64") for v in ([1, 3, 3, 7], [0, 1, 2, 3, 6, 7]))
    assert to_numpy(ops.count_not_above(running, drawn)).tolist() == [0, 1, 1, 3, 3, 4]
    assert to_numpy(ops.count_not_above(running[:1], drawn[:2])).tolist() == [0, 1]


def test_boundaries_between_classes(view, monkeypatch):
    """Integers exactly at and just below a running sum, put in place of the drawn ones."""
    from parity.random.selections import Selections

    def forced(values: list[int]) -> Any:
        return lambda self, *_: self._ops.asarray(np.array(values), "int64")

    monkeypatch.setattr(
        Selections, "_integers_between", forced([0, 2**40 - 1, 2**40, 2**40 + 2**39 - 1, 2**41 - 1])
    )
    logits = np.log(np.array([1.0, 0.5 + 1e-13, 0.5]))
    drawn = to_numpy(view(STREAM).categorical(logits, shape=5)).tolist()
    assert drawn == [0, 0, 1, 1, 2]
    monkeypatch.setattr(Selections, "_integers_between", forced([0, 2**51 - 1, 2**51, 2**52 - 1]))
    assert to_numpy(view(STREAM).choice(3, 4, p=[0.5, 0.0, 0.5])).tolist() == [0, 0, 2, 2]
