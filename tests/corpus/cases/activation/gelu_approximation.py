"""GELU by the tanh formula instead of the error function."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "gelu_approximation"
KIND = "activation"
SUBJECT = "module"
TITLE = "GELU by the tanh formula instead of the error function"
SYMPTOM = "Differences of 1e-4 in every feed-forward block, far above rounding"
WHY = "Keras's default is the approximation, torch's is exact"
CAUSE = "activation-variant"
FIX = "keras.layers.Activation(lambda x: keras.activations.gelu(x, approximate=False))"
PLACE = "act"
FLOAT32_CONSTANTS = True


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("up", nn.Linear(6, 15))
    net.add_module("act", nn.GELU())
    net.add_module("down", nn.Linear(15, 6))
    return net


def network(approximate: bool) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Dense(15, name="up"),
            keras.layers.Activation(
                lambda x: keras.activations.gelu(x, approximate=approximate), name="act"
            ),
            keras.layers.Dense(6, name="down"),
        ]
    )


def tf_buggy() -> keras.Model:
    return network(True)


def tf_fixed() -> keras.Model:
    return network(False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(scale=2.0, size=(8, 6)).astype(np.float32)}
