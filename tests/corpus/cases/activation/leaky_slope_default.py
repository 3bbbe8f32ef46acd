"""LeakyReLU left at each framework's default slope."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "leaky_slope_default"
KIND = "activation"
SUBJECT = "module"
TITLE = "LeakyReLU left at each framework's default slope"
SYMPTOM = "Negative activations are thirty times larger on one side"
WHY = "torch leaks 0.01, keras.layers.LeakyReLU 0.3, tf.nn.leaky_relu 0.2"
CAUSE = "activation-slope"
FIX = "keras.layers.LeakyReLU(negative_slope=0.01)"
PLACE = "act"


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("fc", nn.Linear(5, 14))
    net.add_module("act", nn.LeakyReLU())
    net.add_module("out", nn.Linear(14, 3))
    return net


def network(**settings: float) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((5,)),
            keras.layers.Dense(14, name="fc"),
            keras.layers.LeakyReLU(name="act", **settings),
            keras.layers.Dense(3, name="out"),
        ]
    )


def tf_buggy() -> keras.Model:
    return network()


def tf_fixed() -> keras.Model:
    return network(negative_slope=0.01)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(6, 5)).astype(np.float32)}
