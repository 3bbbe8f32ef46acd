"""Tensors, gradients, variants and devices: what every adapter does alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import pytest
from torch import nn

from parity.backends import get_backend
from parity.backends.numpy_backend import Differentiable
from parity.errors import InvalidInput

X = np.random.default_rng(1).normal(size=(5, 3))


def ones(path: str, shape: tuple[int, ...]) -> np.ndarray:
    return np.ones(shape)


@pytest.mark.parametrize("side", ["torch", "tf"])
def test_value_and_grad(side: str) -> None:
    backend = get_backend(side)
    inputs = {"a": X, "b": 2 * X}
    outputs, gradients = backend.value_and_grad(
        lambda a, b: (a * a, 3.0 * a),
        inputs,
        wrt=("a", "b"),
        cotangents=lambda path, shape: np.full(shape, 1.0 if path == "0" else 10.0),
        dtype="float64",
    )
    assert np.array_equal(backend.to_numpy(outputs[0]), X * X)
    assert gradients["a"] is not None
    assert np.allclose(gradients["a"], 2 * X + 30.0)
    assert gradients["b"] is None


@pytest.mark.parametrize("side", ["torch", "tf", "reference"])
def test_tensors_are_copies_of_the_given_dtype(side: str) -> None:
    backend = get_backend(side)
    array = X[::-1, ::-1].copy()[::-1]
    tensor = backend.tensor(array, dtype="float32")
    kept = backend.to_numpy(tensor).copy()
    assert kept.dtype == np.float32
    array[...] = 0.0
    assert np.array_equal(backend.to_numpy(tensor), kept)
    assert backend.to_numpy(backend.tensor(np.array([3]), dtype="float32")).dtype == np.int64
    assert backend.to_numpy(backend.tensor(np.array(True), dtype="float32")).shape == ()


@pytest.mark.parametrize("side", ["torch", "tf"])
def test_one_layer_by_path(side: str) -> None:
    backend = get_backend(side)
    module: Any = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    if side == "tf":
        module = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(2)])
    found = backend.record_module(module, [X], cotangents=ones, dtype="float32")
    call = found.calls[-1]
    assert np.array_equal(backend.call_layer(module, call.path, call.inputs), call.output)
    with pytest.raises(InvalidInput, match="no layer 'nowhere'; there are"):
        backend.call_layer(module, "nowhere", call.inputs)


@pytest.mark.parametrize("side", ["torch", "tf", "reference"])
def test_variants_of_another_framework_are_refused(side: str) -> None:
    with pytest.raises(InvalidInput, match="no variant 'nothing'"):
        get_backend(side).compiled(lambda: None, "nothing")


@pytest.mark.parametrize("device", ["cpu", "cpu:0"])
@pytest.mark.parametrize("side", ["torch", "tf"])
def test_devices_are_named_alike(side: str, device: str) -> None:
    assert "cpu" in str(get_backend(side).tensor(X, device=device).device).lower()


def test_a_reference_gradient_comes_from_its_vjp() -> None:
    def square(x: np.ndarray) -> np.ndarray:
        return x * x

    def vjp(*, cotangents: Mapping[str, np.ndarray], x: np.ndarray) -> dict[str, np.ndarray]:
        return {"x": 2.0 * x * cotangents["value"]}

    def stray(*, cotangents: Mapping[str, np.ndarray], x: np.ndarray) -> dict[str, np.ndarray]:
        return {"y": x}

    backend = get_backend("reference")
    options: dict[str, Any] = {"wrt": ("x",), "cotangents": ones, "dtype": "float64"}
    outputs, gradients = backend.value_and_grad(Differentiable(square, vjp), {"x": X}, **options)
    assert np.array_equal(outputs, X * X)
    assert np.array_equal(gradients["x"], 2.0 * X)
    with pytest.raises(InvalidInput, match=r"gradients of \['y'\], which are no inputs"):
        backend.value_and_grad(Differentiable(square, stray), {"x": X}, **options)
    with pytest.raises(InvalidInput, match="needs its vjp"):
        backend.value_and_grad(square, {"x": X}, **options)
