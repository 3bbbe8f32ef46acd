"""Feature maps flattened in another order."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "flatten_order"
KIND = "data-layout"
SUBJECT = "module"
TITLE = "Feature maps flattened in another order"
SYMPTOM = "Convolutions agree, the first dense layer behind them does not"
WHY = (
    "torch flattens [channel, row, column], Keras [row, column, channel]; the dense kernel "
    "expects the former"
)
CAUSE = "flatten-order"
FIX = "keras.layers.Permute((3, 1, 2)) before Flatten, or reorder the rows of the dense kernel"
PLACE = "flat"
CHANNELS_LAST = True


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("conv", nn.Conv2d(2, 3, 2))
    net.add_module("act", nn.ReLU())
    net.add_module("flat", nn.Flatten())
    net.add_module("fc", nn.Linear(36, 5))
    return net


def network(permuted: bool) -> keras.Model:
    x = inputs = keras.Input((4, 5, 2))
    x = keras.layers.Conv2D(3, 2, activation="relu", name="conv")(x)
    if permuted:
        x = keras.layers.Permute((3, 1, 2), name="channels_first")(x)
    x = keras.layers.Flatten(name="flat")(x)
    return keras.Model(inputs, keras.layers.Dense(5, name="fc")(x))


def tf_buggy() -> keras.Model:
    return network(False)


def tf_fixed() -> keras.Model:
    return network(True)


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(size=(3, 2, 4, 5)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 3, 1)}}
