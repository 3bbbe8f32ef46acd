"""The convolutional trunk in NumPy, patch by patch, with the backward pass written out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from impls.nature_cnn.config import STRIDES, require_image

Array = np.ndarray


def nature_cnn(
    pixels: Any,
    conv1_kernel: Any,
    conv1_bias: Any,
    conv2_kernel: Any,
    conv2_bias: Any,
    conv3_kernel: Any,
    conv3_bias: Any,
    dense_kernel: Any,
    dense_bias: Any,
) -> dict[str, Any]:
    parameters = {
        "conv1_kernel": conv1_kernel,
        "conv1_bias": conv1_bias,
        "conv2_kernel": conv2_kernel,
        "conv2_bias": conv2_bias,
        "conv3_kernel": conv3_kernel,
        "conv3_bias": conv3_bias,
        "dense_kernel": dense_kernel,
        "dense_bias": dense_bias,
    }
    require_image(pixels, parameters)
    made: dict[str, Array] = {}
    x = pixels.astype(np.float64) / 255.0
    for i, stride in enumerate(STRIDES, start=1):
        kernel, bias = parameters[f"conv{i}_kernel"], parameters[f"conv{i}_bias"]
        x = made[f"conv{i}"] = np.maximum(_convolved(x, kernel, stride) + bias, 0.0)
    flat = np.stack([image.ravel() for image in x])
    made["features"] = np.maximum(flat @ dense_kernel + dense_bias, 0.0)
    return made


def nature_cnn_vjp(*, cotangents: Mapping[str, Array], **inputs: Array) -> dict[str, Array]:
    """Backwards through relu, dense layer and convolutions; each output may have a gradient."""
    made = nature_cnn(**inputs)
    found: dict[str, Array] = {}
    dz = cotangents["features"] * (made["features"] > 0.0)
    flat = made["conv3"].reshape(len(dz), -1)
    found["dense_kernel"], found["dense_bias"] = flat.T @ dz, dz.sum(axis=0)
    dx = (dz @ inputs["dense_kernel"].T).reshape(made["conv3"].shape)
    before = {1: inputs["pixels"] / 255.0, 2: made["conv1"], 3: made["conv2"]}
    for i in (3, 2, 1):
        dz = (dx + cotangents[f"conv{i}"]) * (made[f"conv{i}"] > 0.0)
        kernel = inputs[f"conv{i}_kernel"]
        of_kernel, dx = np.zeros_like(kernel), np.zeros(before[i].shape)
        for row, column, patch in _patches(before[i], kernel, STRIDES[i - 1], dz.shape):
            of_kernel += np.einsum("bhwc,bo->hwco", before[i][patch], dz[:, row, column])
            dx[patch] += np.einsum("bo,hwco->bhwc", dz[:, row, column], kernel)
        found[f"conv{i}_kernel"], found[f"conv{i}_bias"] = of_kernel, dz.sum(axis=(0, 1, 2))
    return found


def _convolved(x: Array, kernel: Array, stride: int) -> Array:
    rows, columns = ((n - len(kernel)) // stride + 1 for n in x.shape[1:3])
    y = np.zeros((len(x), rows, columns, kernel.shape[3]))
    for row, column, patch in _patches(x, kernel, stride, y.shape):
        y[:, row, column] = np.einsum("bhwc,hwco->bo", x[patch], kernel)
    return y


def _patches(
    x: Array, kernel: Array, stride: int, shape: tuple[int, ...]
) -> Iterator[tuple[int, int, tuple[slice, ...]]]:
    """Output row and column, and where in the input the kernel lies."""
    height, width = kernel.shape[:2]
    for row in range(shape[1]):
        for column in range(shape[2]):
            top, left = row * stride, column * stride
            yield row, column, (slice(None), slice(top, top + height), slice(left, left + width))
