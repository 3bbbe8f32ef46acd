"""Bugs planted in the convolutional trunk, and misuses that it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError
from impls.nature_cnn.cases import SMALL, images
from impls.nature_cnn.config import NatureCNNConfig
from parity.component import ErrorCase, Mutant, Side

CHECK = "function.nature_cnn"


def _mutant(
    name: str, find: str, replace: str, because: str, side: str = "tf", case: str = "small"
) -> Mutant:
    return Mutant(
        id=name,
        find=find,
        replace=replace,
        caught_by=CHECK,
        because=because,
        sibling=side,
        case=case,
    )


MUTANTS = (
    _mutant(
        "flattened-channels-first",
        "flat = x.permute(0, 2, 3, 1).flatten(1)",
        "flat = x.flatten(1)",
        "torch's own order meets a dense kernel that was made channels last",
        "torch",
    ),
    _mutant(
        "flattened-columns-first",
        "flat = tf.reshape(x, [tf.shape(x)[0], -1])",
        "flat = tf.reshape(tf.transpose(x, [0, 2, 1, 3]), [tf.shape(x)[0], -1])",
        "rows and columns change places before the dense layer",
        case="square",
    ),
    _mutant(
        "not-divided",
        "x = tf.cast(pixels, conv1_kernel.dtype) / 255.0",
        "x = tf.cast(pixels, conv1_kernel.dtype)",
        "pixels up to 255 reach the first convolution",
    ),
    _mutant(
        "divided-by-256",
        "to(conv1_kernel.dtype) / 255.0",
        "to(conv1_kernel.dtype) / 256.0",
        "white is not 1",
        "torch",
    ),
    _mutant(
        "divided-as-integers",
        "x = tf.cast(pixels, conv1_kernel.dtype) / 255.0",
        "x = tf.cast(pixels // 255, conv1_kernel.dtype)",
        "all but white is 0",
    ),
    _mutant(
        "padding-same",
        'padding="VALID")',
        'padding="SAME")[:, : (x.shape[1] - parameters[f"conv{i}_kernel"].shape[0]) // stride + 1,'
        ' : (x.shape[2] - parameters[f"conv{i}_kernel"].shape[1]) // stride + 1]',
        "windows begin outside of the image; the sizes have been cut to fit",
    ),
    _mutant(
        "kernel-turned",
        ".permute(3, 2, 0, 1)",
        ".permute(3, 2, 1, 0)",
        "rows and columns of the kernels change places: of square kernels the shape is the same",
        "torch",
    ),
    _mutant(
        "in-and-out-swapped",
        ".permute(3, 2, 0, 1)",
        ".permute(2, 3, 0, 1)",
        "a kernel taken for [height, width, out, in]; only equal channels fit",
        "torch",
        case="square",
    ),
    _mutant(
        "kernel-flipped",
        'tf.nn.conv2d(x, parameters[f"conv{i}_kernel"],',
        'tf.nn.conv2d(x, parameters[f"conv{i}_kernel"][::-1, ::-1],',
        "a convolution in the mathematical sense, not a correlation",
    ),
    _mutant(
        "strides-of-the-end-first",
        "for i, stride in enumerate(STRIDES, start=1):\n        x = tf.nn.conv2d(x, "
        'parameters[f"conv{i}_kernel"], strides=stride, padding="VALID")',
        "for i, stride in enumerate(STRIDES, start=1):\n        x = tf.nn.conv2d(x, "
        'parameters[f"conv{i}_kernel"], strides=1, padding="VALID")'
        "[:, ::-stride, ::-stride][:, ::-1, ::-1]",
        "windows are counted from the other edge: the same where nothing is left over",
        case="rest-at-the-edge",
    ),
    _mutant(
        "no-relu-at-the-end",
        'made["features"] = torch.relu(flat @ dense_kernel + dense_bias)',
        'made["features"] = flat @ dense_kernel + dense_bias',
        "the features are linear",
        "torch",
    ),
    _mutant(
        "bias-behind-the-relu",
        'x = tf.nn.relu(x + parameters[f"conv{i}_bias"])',
        'x = tf.nn.relu(x) + parameters[f"conv{i}_bias"]',
        "a bias that the activation does not see",
    ),
    _mutant(
        "reference-gradient-of-the-last-patch",
        "of_kernel += np.einsum",
        "of_kernel = np.einsum",
        "the gradient of shared weights is a sum over all places",
        "reference",
    ),
)


def _called(**changes: Any) -> Callable[[Side], Any]:
    """The function on inputs of which some are changed."""

    def call(side: Side) -> Any:
        arrays = {**images(SMALL, 3)(np.random.default_rng(0)), **changes}
        given = {
            name: side.backend.tensor(array, dtype=side.dtype, device=side.device)
            for name, array in arrays.items()
        }
        return side.impl.nature_cnn(**given)

    return call


def _config(**fields: Any) -> Callable[[Side], Any]:
    return lambda side: NatureCNNConfig(**fields)


def _pixels(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.uint8)


ERRORS = tuple(
    ErrorCase(case, call, error, match)
    for case, call, error, match in (
        ("image-too-small", _config(height=35), ConfigError, "height=35.*at least 36"),
        ("no-filters", _config(filters=(3, 0, 4)), ConfigError, r"filters\[1\]=0"),
        ("two-convolutions", _config(filters=(3, 4)), ConfigError, r"filters=\(3, 4\)"),
        (
            "scaled-already",
            _called(pixels=np.zeros((3, 44, 52, 2))),
            DtypeError,
            "pixels is float(32|64), must be uint8",
        ),
        (
            "channels-first",
            _called(pixels=_pixels(3, 2, 44, 52)),
            ShapeError,
            r"conv1_kernel has shape \(8, 8, 2, 3\), must be \[8, 8, 52, out\]",
        ),
        ("one-image", _called(pixels=_pixels(44, 52, 2)), ShapeError, r"pixels has shape \(44"),
        ("no-image", _called(pixels=_pixels(0, 44, 52, 2)), ShapeError, r"pixels has shape \(0"),
        ("small-image", _called(pixels=_pixels(3, 20, 52, 2)), ShapeError, "too small for conv3"),
        (
            "other-image-size",
            _called(pixels=_pixels(3, 52, 52, 2)),
            ShapeError,
            r"dense_kernel has shape \(24, 7\), must be \[36, units\]",
        ),
        (
            "kernel-of-torch",
            _called(conv2_kernel=np.zeros((5, 3, 4, 4))),
            ShapeError,
            r"conv2_kernel has shape \(5, 3, 4, 4\), must be \[4, 4, 3, out\]",
        ),
        ("bias", _called(conv3_bias=np.zeros(5)), ShapeError, r"conv3_bias has shape \(5,\)"),
    )
)
