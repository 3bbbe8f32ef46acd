"""The convolutional trunk for pixels that DQN's Nature paper made common.

Images come as ``[B, height, width, channels]`` uint8, channels last, on every side: what an
environment gives and a replay buffer holds. Inside, torch computes channels first. Kernels are
``[height, width, in, out]`` wherever values cross an interface (torch's own: [out, in, height,
width]).
"""

from __future__ import annotations

from typing import Any

from impls.nature_cnn.cases import CHECKS
from impls.nature_cnn.config import (
    NatureCNNConfig,
    initial_parameters,
    parameter_shapes,
    require_image,
)
from impls.nature_cnn.faults import ERRORS, MUTANTS
from parity.component import Component

__all__ = [
    "COMPONENT",
    "NatureCNNConfig",
    "initial_parameters",
    "nature_cnn",
    "parameter_shapes",
    "require_image",
]


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
    """Three convolutions and a dense layer, relu after each.

    ``x = pixels / 255``; convolutions of 8x8 with stride 4, 4x4 with stride 2, 3x3 with stride 1,
    without padding; ``features = relu(flatten(conv3) @ dense_kernel + dense_bias)``.

    Source: Mnih et al. 2015, "Human-level control through deep reinforcement learning", Methods,
    "Model architecture"; 32, 64 and 64 filters, 512 units.

    Args:
        pixels: [B, height, width, channels], uint8, at least 36 in either direction.
        conv1_kernel, conv2_kernel, conv3_kernel: [side, side, in, out] with side 8, 4, 3.
        conv1_bias, conv2_bias, conv3_bias: [out].
        dense_kernel: [rows * columns * out, units]: of each row and column of the third
            convolution's output all channels side by side, row by row. torch's own flatten has the
            rows and columns of each channel side by side: rows of such a kernel are in another
            order, and only an output of 1x1 hides it.
        dense_bias: [units].

    Returns:
        ``conv1``, ``conv2``, ``conv3``: [B, rows, columns, out] after relu; ``features``
        [B, units]; all of the parameters' dtype. No gradient reaches the pixels.

    Raises:
        ShapeError: pixels and parameters do not fit each other, or there is no image.
        DtypeError: pixels are not uint8 (they would be scaled twice), or parameters of two dtypes.
    """
    ...


COMPONENT = Component(
    name="nature_cnn",
    contract=(nature_cnn,),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
