"""Max pooling over zeros that stand for padding."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "max_over_zero_padding"
KIND = "pooling"
SUBJECT = "module"
TITLE = "Max pooling over zeros that stand for padding"
SYMPTOM = "At the border no negative value survives"
WHY = (
    "torch pads a max pooling with minus infinity; ZeroPadding2D puts zeros there, which win "
    "over negative values"
)
CAUSE = "padding-value"
FIX = (
    'keras.layers.MaxPooling2D(3, 2, padding="same") where it fits, or tf.pad(..., '
    "constant_values=-inf)"
)
PLACE = "pool"
CHANNELS_LAST = True


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("pool", nn.MaxPool2d(3, stride=2, padding=1))
    net.add_module("conv", nn.Conv2d(2, 4, 2))
    return net


def network(value: float) -> keras.Model:
    x = inputs = keras.Input((9, 11, 2))
    x = keras.ops.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=value)
    x = keras.layers.MaxPooling2D(3, strides=2, name="pool")(x)
    return keras.Model(inputs, keras.layers.Conv2D(4, 2, name="conv")(x))


def tf_buggy() -> keras.Model:
    return network(0.0)


def tf_fixed() -> keras.Model:
    return network(-np.inf)


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(-1.0, 1.0, (2, 2, 9, 11)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 3, 1)}}
