"""The convolutional trunk against what the frameworks' own layers make of the same weights."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from impls.nature_cnn.cases import SMALL, images
from impls.nature_cnn.config import STRIDES, NatureCNNConfig, initial_parameters, parameter_shapes
from parity.backends import get_backend, to_numpy
from parity.runner import load_siblings

SIDES = ("torch", "tf", "reference")


@pytest.fixture(scope="module", params=SIDES)
def side(request):
    return request.param


def called(side, arrays):
    backend = get_backend(side)
    given = {name: backend.tensor(array, dtype="float64") for name, array in arrays.items()}
    made = load_siblings("impls.nature_cnn")[side].nature_cnn(**given)
    return {name: to_numpy(value) for name, value in made.items()}


@pytest.fixture(scope="module")
def arrays():
    return images(SMALL, 3)(np.random.default_rng(0))


def test_torch_s_own_layers_agree_with_the_dense_rows_moved(side, arrays):
    """nn.Flatten is channels first: the rows of the dense kernel move, and nothing else does."""
    import torch
    from torch import nn

    layers = []
    for i, stride in enumerate(STRIDES, start=1):
        kernel = arrays[f"conv{i}_kernel"]
        layer = nn.Conv2d(kernel.shape[2], kernel.shape[3], len(kernel), stride).double()
        layers += [_filled(layer, kernel.transpose(3, 2, 0, 1), arrays[f"conv{i}_bias"]), nn.ReLU()]
    rows, columns = SMALL.grid
    dense = arrays["dense_kernel"].reshape(rows, columns, SMALL.filters[2], SMALL.units)
    moved = dense.transpose(2, 0, 1, 3).reshape(arrays["dense_kernel"].shape)
    linear = nn.Linear(*moved.shape).double()
    network = nn.Sequential(
        *layers, nn.Flatten(), _filled(linear, moved.T, arrays["dense_bias"]), nn.ReLU()
    )
    pixels = torch.tensor(arrays["pixels"]).permute(0, 3, 1, 2).double() / 255.0
    with torch.no_grad():
        wanted = network(pixels).numpy()
    np.testing.assert_allclose(called(side, arrays)["features"], wanted, rtol=0, atol=1e-12)


def test_keras_s_own_layers_agree(side, arrays):
    import keras

    shape = arrays["pixels"].shape[1:]
    layers = [keras.Input(shape, dtype="float64")]
    weights = []
    for i, stride in enumerate(STRIDES, start=1):
        kernel = arrays[f"conv{i}_kernel"]
        layers.append(
            keras.layers.Conv2D(
                kernel.shape[3], len(kernel), stride, activation="relu", dtype="float64"
            )
        )
        weights += [kernel, arrays[f"conv{i}_bias"]]
    layers += [
        keras.layers.Flatten(dtype="float64"),
        keras.layers.Dense(SMALL.units, activation="relu", dtype="float64"),
    ]
    network = keras.Sequential(layers)
    network.set_weights([*weights, arrays["dense_kernel"], arrays["dense_bias"]])
    wanted = np.asarray(network(arrays["pixels"] / 255.0))
    np.testing.assert_allclose(called(side, arrays)["features"], wanted, rtol=0, atol=1e-12)


def test_the_paper_s_sizes():
    config = NatureCNNConfig()
    assert config.grid == (7, 7)
    assert parameter_shapes(config)["dense_kernel"] == (3136, 512)
    count = sum(int(np.prod(shape)) for shape in parameter_shapes(config).values())
    assert count == 8224 + 32832 + 36928 + 1606144


def test_an_image_of_one_color_has_one_value_per_filter(side, arrays):
    white = {**arrays, "pixels": np.full_like(arrays["pixels"], 255)}
    first = called(side, white)["conv1"]
    sums = arrays["conv1_kernel"].sum(axis=(0, 1, 2)) + arrays["conv1_bias"]
    wanted = np.broadcast_to(np.maximum(sums, 0.0), first.shape)
    np.testing.assert_allclose(first, wanted, rtol=0, atol=1e-12)


def test_images_do_not_see_each_other(side, arrays):
    together = called(side, arrays)["features"]
    alone = called(side, {**arrays, "pixels": arrays["pixels"][1:2]})["features"]
    np.testing.assert_allclose(together[1:2], alone, rtol=0, atol=1e-12)


def _filled(layer, kernel, bias):
    import torch

    with torch.no_grad():
        layer.weight.copy_(torch.tensor(np.ascontiguousarray(kernel)))
        layer.bias.copy_(torch.tensor(bias))
    return layer


@pytest.mark.parametrize("framework", ["torch", "tf"])
def test_the_module_is_the_function(framework):
    """As layers of the framework: what the reference makes of the same parameters."""
    module = importlib.import_module(f"impls.nature_cnn.{framework}_module")
    network = module.NatureCNN(SMALL, dtype="float64", seed=3)
    pixels = images(SMALL, 3)(np.random.default_rng(0))["pixels"]
    made = network(get_backend(framework).tensor(pixels, dtype="float64"))
    values = initial_parameters(SMALL, np.random.default_rng(3))
    wanted = called("reference", {"pixels": pixels, **values})["features"]
    np.testing.assert_allclose(to_numpy(made), wanted, rtol=0, atol=1e-12)
