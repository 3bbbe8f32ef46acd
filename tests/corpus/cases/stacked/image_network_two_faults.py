"""Asymmetric padding and another order of flattening."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "image_network_two_faults"
KIND = "stacked"
SUBJECT = "module"
TITLE = "Asymmetric padding and another order of flattening"
SYMPTOM = "All features are shifted, and the dense layer reads them in the wrong order"
WHY = "'same' pads one side more than the other at stride 2, and Flatten runs over channels last"
CAUSE = ("padding-asymmetry", "flatten-order")
FIX = "ZeroPadding2D(1) before a 'valid' convolution, and Permute((3, 1, 2)) before Flatten"
PLACE = ("conv", "flat")
CHANNELS_LAST = True


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("conv", nn.Conv2d(2, 4, 3, stride=2, padding=1))
    net.add_module("act", nn.ReLU())
    net.add_module("flat", nn.Flatten())
    net.add_module("fc", nn.Linear(48, 3))
    return net


def network(fixed: bool) -> keras.Model:
    x = inputs = keras.Input((6, 8, 2))
    if fixed:
        x = keras.layers.ZeroPadding2D(1, name="pad")(x)
    padding = "valid" if fixed else "same"
    x = keras.layers.Conv2D(4, 3, strides=2, padding=padding, activation="relu", name="conv")(x)
    if fixed:
        x = keras.layers.Permute((3, 1, 2), name="permute")(x)
    x = keras.layers.Flatten(name="flat")(x)
    return keras.Model(inputs, keras.layers.Dense(3, name="fc")(x))


def tf_buggy() -> keras.Model:
    return network(False)


def tf_fixed() -> keras.Model:
    return network(True)


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(size=(3, 2, 6, 8)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 3, 1)}}
