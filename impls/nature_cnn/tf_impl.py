"""The convolutional trunk in TensorFlow, channels last: see ``spec.py``."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

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
    x = tf.cast(pixels, conv1_kernel.dtype) / 255.0
    for i, stride in enumerate(STRIDES, start=1):
        x = tf.nn.conv2d(x, parameters[f"conv{i}_kernel"], strides=stride, padding="VALID")
        x = tf.nn.relu(x + parameters[f"conv{i}_bias"])
        made[f"conv{i}"] = x
    flat = tf.reshape(x, [tf.shape(x)[0], -1])
    made["features"] = tf.nn.relu(flat @ dense_kernel + dense_bias)
    return made
