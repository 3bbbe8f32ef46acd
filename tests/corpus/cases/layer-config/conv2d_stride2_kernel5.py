"""An image stem with a 5x5 kernel and stride 2, ported with padding='same'."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "conv2d_stride2_kernel5"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "An image stem with a 5x5 kernel and stride 2, ported with padding='same'"
SYMPTOM = (
    "The outputs have the right shape and the wrong values, everywhere and not only at the border"
)
WHY = "'same' pads 1 and 2 where torch pads 2 and 2, so every window is moved by one pixel"
CAUSE = "padding-asymmetry"
FIX = 'keras.layers.ZeroPadding2D(2) before the convolution, and padding="valid" in it'
PLACE = "stem"
CHANNELS_LAST = True


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("stem", nn.Conv2d(2, 4, 5, stride=2, padding=2))
    net.add_module("act", nn.ReLU())
    net.add_module("next", nn.Conv2d(4, 3, 3))
    return net


def network(same: bool) -> keras.Model:
    x = inputs = keras.Input((12, 14, 2))
    if same:
        x = keras.layers.Conv2D(4, 5, strides=2, padding="same", name="stem")(x)
    else:
        x = keras.layers.ZeroPadding2D(2)(x)
        x = keras.layers.Conv2D(4, 5, strides=2, name="stem")(x)
    x = keras.layers.ReLU(name="act")(x)
    return keras.Model(inputs, keras.layers.Conv2D(3, 3, name="next")(x))


def tf_buggy() -> keras.Model:
    return network(True)


def tf_fixed() -> keras.Model:
    return network(False)


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(size=(2, 2, 12, 14)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 3, 1)}}
