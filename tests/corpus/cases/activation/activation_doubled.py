"""An activation applied by the layer and once more behind it."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "activation_doubled"
KIND = "activation"
SUBJECT = "module"
TITLE = "An activation applied by the layer and once more behind it"
SYMPTOM = "Hidden units are squeezed towards zero; the network learns slowly"
WHY = 'Dense(activation="tanh") is followed by Activation("tanh")'
CAUSE = "activation-doubled"
FIX = "Leave the activation out of one of the two places"
PLACE = "2/input"


def torch_side() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 4))


def network(fused: str | None) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((5,)),
            keras.layers.Dense(12, activation=fused),
            keras.layers.Activation("tanh"),
            keras.layers.Dense(4),
        ]
    )


def tf_buggy() -> keras.Model:
    return network("tanh")


def tf_fixed() -> keras.Model:
    return network(None)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(6, 5)).astype(np.float32)}
