"""Initial weights: the distributions of both frameworks, from one stream."""

from __future__ import annotations

import math

import numpy as np
import pytest

from parity.random import Stream, initializers

STREAM = Stream(17).split("weights")
DENSE, CONV = (37, 29), (3, 5, 7, 11)  # [in, out] and [height, width, in, out]
INITIALIZERS = {
    "kaiming": initializers.kaiming_uniform,
    "glorot": initializers.glorot_uniform,
    "orthogonal": initializers.orthogonal,
}


def distance(left: np.ndarray, right: np.ndarray) -> float:
    """Kolmogorov and Smirnov's two-sample distance over its 1e-4 bound: below 1 is the same."""
    left, right = np.sort(left.ravel()), np.sort(right.ravel())
    grid = np.concatenate([left, right])
    gap = np.searchsorted(left, grid, "right") / left.size - (
        np.searchsorted(right, grid, "right") / right.size
    )
    bound = math.sqrt(-math.log(1e-4 / 2) / 2 * (1 / left.size + 1 / right.size))
    return float(np.abs(gap).max() / bound)


def many(make, shape) -> np.ndarray:
    """Enough kernels for a sample of 40,000 values."""
    return np.stack([make(STREAM.fold_in(k), shape) for k in range(-(-40_000 // math.prod(shape)))])


def test_the_distance_tells_bounds_apart():
    values = STREAM.uniform(40_000, dtype="float64")
    assert distance(values, STREAM.fold_in(1).uniform(40_000, dtype="float64")) < 1
    assert distance(values, 0.95 * values) > 1


@pytest.mark.parametrize(("shape", "fan"), [(DENSE, (37, 29)), (CONV, (105, 165))])
def test_fans(shape, fan):
    assert initializers.fans(shape) == fan


def test_fans_are_kerass_and_torchs():
    torch, keras = pytest.importorskip("torch"), pytest.importorskip("keras")
    for shape, canonical in ((DENSE, (1, 0)), (CONV, (3, 2, 0, 1))):
        kernel = torch.zeros(shape).permute(canonical)
        assert initializers.fans(shape) == torch.nn.init._calculate_fan_in_and_fan_out(kernel)
        scale = keras.initializers.GlorotUniform(seed=1)(shape)
        bound = math.sqrt(6 / sum(initializers.fans(shape)))
        assert 0.9 * bound < np.abs(np.asarray(scale)).max() <= bound * (1 + 1e-6)


@pytest.mark.parametrize("shape", [DENSE, CONV], ids=["dense", "conv"])
@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        ("kaiming_uniform", {}),
        ("kaiming_uniform", {"a": math.sqrt(5)}),
        ("kaiming_uniform", {"mode": "fan_out", "a": 0.2}),
        ("xavier_uniform", {}),
        ("xavier_uniform", {"gain": 1.5}),
        ("orthogonal", {"gain": 1.5}),
    ],
)
def test_distributions_are_torchs(make, arguments, shape):
    torch = pytest.importorskip("torch")
    ours = {"xavier_uniform": "glorot_uniform"}.get(make, make)
    order = (1, 0) if shape == DENSE else (3, 2, 0, 1)
    here = many(lambda s, size: getattr(initializers, ours)(s, size, **arguments), shape)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        blank = torch.empty([shape[axis] for axis in order])
        fill = getattr(torch.nn.init, f"{make}_")
        there = np.stack([fill(blank.clone(), **arguments).numpy() for _ in range(len(here))])
    assert distance(here, there) < 1
    if make != "orthogonal":
        assert np.abs(here).max() == pytest.approx(np.abs(there).max(), rel=2e-3)


@pytest.mark.parametrize("shape", [DENSE, CONV], ids=["dense", "conv"])
@pytest.mark.parametrize(
    ("ours", "theirs", "arguments"),
    [
        ("kaiming_uniform", "HeUniform", {}),
        ("glorot_uniform", "GlorotUniform", {}),
        ("orthogonal", "Orthogonal", {"gain": 1.5}),
    ],
)
def test_distributions_are_kerass(ours, theirs, arguments, shape):
    keras = pytest.importorskip("keras")
    here = many(lambda s, size: getattr(initializers, ours)(s, size, **arguments), shape)
    make = getattr(keras.initializers, theirs)
    there = np.stack([np.asarray(make(seed=k, **arguments)(shape)) for k in range(len(here))])
    assert distance(here, there) < 1
    if ours != "orthogonal":
        assert np.abs(here).max() == pytest.approx(np.abs(there).max(), rel=2e-3)


def test_torchs_default_layer():
    """``a = sqrt(5)`` and ``fan_in_uniform`` are what ``Linear`` and ``Conv2d`` do themselves."""
    torch = pytest.importorskip("torch")
    bound = 1 / math.sqrt(37)
    kernel = many(lambda s, size: initializers.kaiming_uniform(s, size, a=math.sqrt(5)), DENSE)
    bias = initializers.fan_in_uniform(STREAM, (40_000,), 37)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        layers = [torch.nn.Linear(*DENSE) for _ in range(40)]
    weights = np.stack([layer.weight.detach().numpy() for layer in layers])
    biases = np.stack([layer.bias.detach().numpy() for layer in layers])
    for here, there in ((kernel, weights), (bias, biases)):
        assert distance(here, there) < 1
        assert 0.99 * bound < np.abs(here).max() <= bound * (1 + 1e-6)


@pytest.mark.parametrize("shape", [(11, 7), (7, 11), (5, 5), CONV])
def test_orthogonal_is_orthonormal_times_gain(shape):
    matrix = initializers.orthogonal(STREAM, shape, gain=1.5, dtype="float64").reshape(
        -1, shape[-1]
    )
    product = matrix.T @ matrix if matrix.shape[0] >= matrix.shape[1] else matrix @ matrix.T
    np.testing.assert_allclose(product, 2.25 * np.eye(len(product)), atol=1e-13)


def test_orthogonal_is_uniform_over_rotations_and_reflections():
    """Haar: entries have mean 0 and variance 1/n, and both determinants are as likely."""
    matrices = np.stack(
        [initializers.orthogonal(STREAM.fold_in(k), (3, 3), dtype="float64") for k in range(2000)]
    )
    assert np.abs(matrices.mean(axis=0)).max() < 5 / math.sqrt(3 * 2000)
    assert np.abs((matrices**2).mean(axis=0) - 1 / 3).max() < 0.04
    assert abs(np.linalg.det(matrices).mean()) < 5 / math.sqrt(2000)


@pytest.mark.parametrize("make", INITIALIZERS.values(), ids=INITIALIZERS)
def test_float32_weights_are_the_float64_weights_rounded(make):
    single, double = (make(STREAM, DENSE, dtype=dtype) for dtype in ("float32", "float64"))
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    assert single.std() > 0.01
    np.testing.assert_array_equal(single, double.astype(np.float32))


@pytest.mark.parametrize("make", INITIALIZERS.values(), ids=INITIALIZERS)
def test_one_stream_gives_both_frameworks_one_layer(make):
    torch, keras = pytest.importorskip("torch"), pytest.importorskip("keras")
    kernel = make(STREAM, DENSE)
    layer, dense = torch.nn.Linear(*DENSE, bias=False), keras.layers.Dense(29, use_bias=False)
    dense.build((None, 37))
    dense.set_weights([kernel])
    layer.weight.data = torch.from_numpy(kernel.T.copy())
    x = Stream(1).normal((13, 37))
    left, right = layer(torch.from_numpy(x)).detach().numpy(), np.asarray(dense(x))
    np.testing.assert_allclose(left, right, rtol=0, atol=1e-5)
