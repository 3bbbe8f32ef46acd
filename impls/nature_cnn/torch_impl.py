"""The convolutional trunk in PyTorch, channels first inside: see ``spec.py``."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from impls.nature_cnn.config import STRIDES, require_image


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
    made = {}
    x = pixels.permute(0, 3, 1, 2).to(conv1_kernel.dtype) / 255.0
    for i, stride in enumerate(STRIDES, start=1):
        # [height, width, in, out] -> [out, in, height, width]
        kernel = parameters[f"conv{i}_kernel"].permute(3, 2, 0, 1)
        x = torch.relu(functional.conv2d(x, kernel, parameters[f"conv{i}_bias"], stride=stride))
        made[f"conv{i}"] = x.permute(0, 2, 3, 1)
    # channels last before the rows of the dense kernel are met: torch's own order is another
    flat = x.permute(0, 2, 3, 1).flatten(1)
    made["features"] = torch.relu(flat @ dense_kernel + dense_bias)
    return made
