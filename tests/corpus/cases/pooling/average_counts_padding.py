"""Average pooling that does not count the padding."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "average_counts_padding"
KIND = "pooling"
SUBJECT = "module"
TITLE = "Average pooling that does not count the padding"
SYMPTOM = "The border of the feature map is brighter, the inside agrees"
WHY = (
    "torch divides by the whole window (count_include_pad=True), TensorFlow's 'same' by what "
    "lies inside"
)
CAUSE = "pooling-count"
FIX = 'keras.layers.ZeroPadding2D(1), then AveragePooling2D(3, 2, padding="valid")'
PLACE = "pool"
CHANNELS_LAST = True


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("conv", nn.Conv2d(2, 3, 1))
    net.add_module("pool", nn.AvgPool2d(3, stride=1, padding=1))
    return net


def network(same: bool) -> keras.Model:
    x = inputs = keras.Input((5, 6, 2))
    x = keras.layers.Conv2D(3, 1, name="conv")(x)
    if not same:
        x = keras.layers.ZeroPadding2D(1, name="pad")(x)
    padding = "same" if same else "valid"
    x = keras.layers.AveragePooling2D(3, strides=1, padding=padding, name="pool")(x)
    return keras.Model(inputs, x)


def tf_buggy() -> keras.Model:
    return network(True)


def tf_fixed() -> keras.Model:
    return network(False)


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(size=(2, 2, 5, 6)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 3, 1)}}
