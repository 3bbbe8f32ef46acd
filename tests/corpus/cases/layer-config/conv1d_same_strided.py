"""A strided convolution with 'same' padding starts one sample later."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "conv1d_same_strided"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "A strided convolution with 'same' padding starts one sample later"
SYMPTOM = "Features look shifted by a sample after the first strided layer"
WHY = "torch pads both ends alike; 'same' pads only the end where the total is odd"
CAUSE = "padding-asymmetry"
FIX = 'keras.layers.ZeroPadding1D(1) before the convolution, and padding="valid" in it'
PLACE = "down"
CHANNELS_LAST = True


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("down", nn.Conv1d(3, 5, 3, stride=2, padding=1))
    net.add_module("pool", nn.AdaptiveAvgPool1d(1))
    net.add_module("flat", nn.Flatten())
    net.add_module("out", nn.Linear(5, 2))
    return net


def network(same: bool) -> keras.Model:
    x = inputs = keras.Input((10, 3))
    if same:
        x = keras.layers.Conv1D(5, 3, strides=2, padding="same", name="down")(x)
    else:
        x = keras.layers.ZeroPadding1D(1)(x)
        x = keras.layers.Conv1D(5, 3, strides=2, name="down")(x)
    x = keras.layers.GlobalAveragePooling1D(name="pool")(x)
    return keras.Model(inputs, keras.layers.Dense(2, name="out")(x))


def tf_buggy() -> keras.Model:
    return network(True)


def tf_fixed() -> keras.Model:
    return network(False)


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(size=(4, 3, 10)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 1)}}
