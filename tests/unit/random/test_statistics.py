"""Statistical sanity on ten million draws. Bounds are those that chance passes 1e-5 of the time.

The streams are fixed, so a result is a fact about them and not a matter of luck. The rest of the
evidence is the generator's: Philox4x32-10 passes TestU01's BigCrush (Salmon et al. 2011).
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from parity.random import Stream

pytestmark = pytest.mark.slow

COUNT = 10_000_000
DEVIATIONS = 4.42  # P(|z| > 4.42) = 1e-5
STREAM = Stream(1).split("statistics")


def kolmogorov_smirnov(values: np.ndarray) -> float:
    """The largest distance to the uniform distribution, over its bound: below 1 passes."""
    ordered, count = np.sort(values), values.size
    rank = np.arange(1, count + 1) / count
    distance = max((rank - ordered).max(), (ordered - rank).max() + 1 / count)
    return float(distance / math.sqrt(-math.log(1e-5 / 2) / 2 / count))


def normal_cdf(z: np.ndarray) -> np.ndarray:
    """Linear between 2^17 exact values: off by at most 1e-9."""
    grid = np.linspace(-6.0, 6.0, 2**17)
    exact = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in grid])
    return np.interp(z, grid, exact)


def chi_square_z(counts: np.ndarray, p: np.ndarray | None = None) -> float:
    """Chi-square of cells, equally likely unless said, in deviations (Wilson and Hilferty)."""
    degrees = counts.size - 1
    expected = counts.sum() * (np.full(counts.size, 1 / counts.size) if p is None else p)
    chi = ((counts - expected) ** 2 / expected).sum()
    scale = 2 / (9 * degrees)
    return float(((chi / degrees) ** (1 / 3) - 1 + scale) / math.sqrt(scale))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniforms(dtype):
    u = STREAM.uniform(COUNT, dtype=dtype).astype(np.float64)
    for power in range(1, 5):
        mean, variance = 1 / (power + 1), 1 / (2 * power + 1) - 1 / (power + 1) ** 2
        assert abs((u**power).mean() - mean) < DEVIATIONS * math.sqrt(variance / COUNT)
    assert kolmogorov_smirnov(u) < 1
    assert abs(chi_square_z(np.bincount((u * 4096).astype(int), minlength=4096))) < DEVIATIONS
    pairs = (u[0::2] * 64).astype(int) * 64 + (u[1::2] * 64).astype(int)
    assert abs(chi_square_z(np.bincount(pairs, minlength=4096))) < DEVIATIONS
    blocks = (u[0::4] * 16).astype(int) * 16 + (u[3::4] * 16).astype(int)
    assert abs(chi_square_z(np.bincount(blocks, minlength=256))) < DEVIATIONS


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normals(dtype):
    z = STREAM.normal(COUNT, dtype=dtype).astype(np.float64)
    for power, (mean, second) in enumerate([(0, 1), (1, 3), (0, 15), (3, 105)], start=1):
        deviation = math.sqrt((second - mean**2) / COUNT)
        assert abs((z**power).mean() - mean) < DEVIATIONS * deviation
    cdf = normal_cdf(z)
    assert kolmogorov_smirnov(cdf) < 1
    cells = np.minimum((cdf * 1024).astype(int), 1023)
    assert abs(chi_square_z(np.bincount(cells, minlength=1024))) < DEVIATIONS
    for bound in (3.0, 4.0, 4.5):  # the tails hold what they should
        expected = COUNT * math.erfc(bound / math.sqrt(2))
        assert abs((np.abs(z) > bound).sum() - expected) < DEVIATIONS * math.sqrt(expected)
    assert abs(np.mean(z[0::2] * z[1::2])) < DEVIATIONS / math.sqrt(COUNT / 2)  # sine and cosine


@pytest.mark.parametrize("width", [2, 7, 1000, 2**31 + 11])
def test_integers(width):
    k = STREAM.integers(COUNT // 4, -3, width - 3) + 3
    cells = min(width, 1000)  # of the widest range they differ by one value in two million
    assert 0 <= k.min() <= k.max() < width
    assert abs(chi_square_z(np.bincount(k * cells // width, minlength=cells))) < DEVIATIONS


def test_the_statistics_can_fail():
    u = STREAM.uniform(COUNT // 10, dtype="float64")
    assert kolmogorov_smirnov(u) < 1 < kolmogorov_smirnov(u**1.01)
    fair = np.bincount((u * 64).astype(int), minlength=64)
    loaded = fair + 1500 * (np.arange(64) == 3)
    assert abs(chi_square_z(fair)) < DEVIATIONS < chi_square_z(loaded)


def test_every_bit_is_fair_and_independent_of_its_neighbours():
    words = STREAM.bits(COUNT // 4, dtype="uint32")
    bits = (words[:, None] >> np.arange(32, dtype=np.uint32)) & 1
    ones = bits.sum(axis=0)
    assert np.abs(ones - words.size / 2).max() < 5 * math.sqrt(words.size / 4)
    flips = (bits[:, 1:] ^ bits[:, :-1]).sum(axis=0)
    assert np.abs(flips - words.size / 2).max() < 5 * math.sqrt(words.size / 4)


def test_split_and_folded_streams_are_uncorrelated():
    """Thirty-two streams that differ little in name or step, a few hundred thousand draws each."""
    count = 312_500
    relatives = [STREAM.split(f"a{k}") for k in range(16)] + [STREAM.fold_in(k) for k in range(15)]
    values = np.stack([s.uniform(count, dtype="float64") for s in (STREAM, *relatives)])
    correlation = np.corrcoef(values)[np.triu_indices(len(values), 1)]
    assert correlation.size == 496
    z = correlation * math.sqrt(count)
    assert np.abs(z).max() < 5.3  # 496 normals pass it 6e-5 of the time
    assert kolmogorov_smirnov(normal_cdf(z)) < 1
    shifted = [np.corrcoef(values[0, 1:], row[:-1])[0, 1] for row in values]
    assert np.abs(shifted).max() * math.sqrt(count) < DEVIATIONS


def test_first_draws_of_successive_steps_are_uniform():
    """What a training loop sees: one value from each of many folded streams."""
    first = np.array([STREAM.fold_in(k).bits(1, dtype="uint32")[0] for k in range(20_000)])
    assert abs(chi_square_z(np.bincount(first >> 26, minlength=64))) < DEVIATIONS
    assert kolmogorov_smirnov(first / 2**32) < 1
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < DEVIATIONS / math.sqrt(first.size)


def test_bernoulli_and_categorical_frequencies():
    kept = STREAM.bernoulli(0.3, COUNT).sum()
    assert abs(kept - 0.3 * COUNT) < DEVIATIONS * math.sqrt(0.21 * COUNT)
    p = np.array([0.05, 0.15, 0.3, 0.5])
    for drawn in (
        STREAM.categorical(np.log(p), shape=COUNT // 10),
        STREAM.choice(4, COUNT // 10, p=p),
    ):
        assert abs(chi_square_z(np.bincount(drawn, minlength=4), p)) < DEVIATIONS
