"""Normals: between the implementations, in the tails, and beside TensorFlow's own."""

from __future__ import annotations

import math

import numpy as np
import pytest

from parity.backends import to_numpy
from parity.random import Stream
from parity.random import distributions as dist
from parity.tolerance import DEFAULTS
from tests.unit.random.conftest import normals_apart

STREAM = Stream(5)
#: Words whose uniforms are the extremes: 0, the smallest step, just below one, and quarter turns.
LOW_WORDS = (0, 1, 2, 0x7FFFFF, 0x7FFFFE, 0x200000, 0x400000, 0x600000, 0x123456)
LARGEST = math.sqrt(-2.0 * math.log(dist.SMALLEST_UNIFORM["float32"]))


def allowed(values: np.ndarray) -> np.ndarray:
    """Two units in the last place, or the float32 tolerance where that is larger."""
    return np.maximum(2 * np.spacing(np.abs(values)), DEFAULTS["float32"].atol)


def corner_words() -> list[np.ndarray]:
    """Every pair of the extremes as words (0, 1) and, reversed, as words (2, 3)."""
    first, second = (part.reshape(-1) for part in np.meshgrid(LOW_WORDS, LOW_WORDS))
    return [part.astype(np.int64) for part in (first, second, second, first)]


@pytest.mark.parametrize("column", [dist.normal32, dist.normal64], ids=["float32", "float64"])
def test_extremes_agree(column, framework_view):
    ops, here = framework_view(STREAM)._ops, STREAM._ops
    words = corner_words()
    there = column(ops)(*(ops.asarray(word, "int64") for word in words))
    for left, right in zip(there, column(here)(*words), strict=True):
        left = to_numpy(left)
        assert left.dtype == right.dtype
        assert np.isfinite(right).all()
        assert np.all(np.abs(left - right) <= allowed(right))


def test_the_tail_is_reached_and_ends_where_documented():
    assert dist.SMALLEST_UNIFORM["float32"] == float(np.float32(1e-7))
    values = np.concatenate(dist.normal32(STREAM._ops)(*corner_words()))
    assert np.abs(values).max() == np.float32(LARGEST)
    assert pytest.approx(5.678, abs=5e-4) == LARGEST


def test_two_hundred_thousand_values_agree(framework_view):
    """More than the tails hold by luck; the bound asked for and the one that is met."""
    for dtype in ("float32", "float64"):
        there = to_numpy(framework_view(STREAM).normal(200_003, dtype=dtype))
        here = STREAM.normal(200_003, dtype=dtype)
        assert np.abs(here).max() > 4.0
        assert np.all(np.abs(there - here) <= allowed(here))
        assert normals_apart(there, here) <= 1


def test_against_the_definition_in_exact_arithmetic():
    """A float32 normal is the definition's value correctly rounded, but for one in a million."""
    words = STREAM.bits((2503, 4), dtype="uint32").astype(np.longdouble) % 2**23 / 2**23
    radius = np.sqrt(-2 * np.log(np.maximum(words[:, 0::2], np.longdouble(1e-7))))
    angle = 2 * np.longdouble("3.14159265358979323846") * words[:, 1::2]
    exact = np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=-1).reshape(-1)
    np.testing.assert_array_equal(STREAM.normal(10_012), exact.astype(np.float32))


def test_normals_stay_beside_tensorflows():
    """The same formula; TensorFlow evaluates it in float32, with an angle rounded to float32."""
    tf = pytest.importorskip("tensorflow")
    for dtype, rounding in (("float32", 2.0**-23), ("float64", 2.0**-52)):
        theirs = tf.random.stateless_normal((200_000,), seed=(5, 0), dtype=dtype, alg="philox")
        apart = np.abs(STREAM.normal(200_000, dtype=dtype) - theirs.numpy())
        assert apart.max() <= 16 * rounding
