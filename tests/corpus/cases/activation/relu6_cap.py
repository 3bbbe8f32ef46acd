"""ReLU where the mobile network has ReLU6."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "relu6_cap"
KIND = "activation"
SUBJECT = "module"
TITLE = "ReLU where the mobile network has ReLU6"
SYMPTOM = "Agreement until some activation exceeds 6"
WHY = "The cap was left out"
CAUSE = "activation-variant"
FIX = "keras.layers.ReLU(max_value=6.0)"
PLACE = "act"


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("fc", nn.Linear(6, 9))
    net.add_module("act", nn.ReLU6())
    net.add_module("out", nn.Linear(9, 2))
    return net


def network(**settings: float) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Dense(9, name="fc"),
            keras.layers.ReLU(name="act", **settings),
            keras.layers.Dense(2, name="out"),
        ]
    )


def tf_buggy() -> keras.Model:
    return network()


def tf_fixed() -> keras.Model:
    return network(max_value=6.0)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(scale=12.0, size=(8, 6)).astype(np.float32)}
