"""Softplus without its beta."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "softplus_beta"
KIND = "activation"
SUBJECT = "module"
TITLE = "Softplus without its beta"
SYMPTOM = "Standard deviations come out larger than they were, most where they are small"
WHY = "softplus(beta x) / beta with beta = 3 became softplus(x)"
CAUSE = "activation-slope"
FIX = "lambda x: keras.ops.softplus(3.0 * x) / 3.0"
PLACE = "positive"


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("raw", nn.Linear(7, 4))
    net.add_module("positive", nn.Softplus(beta=3.0))
    return net


def network(activation: object) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((7,)),
            keras.layers.Dense(4, name="raw"),
            keras.layers.Activation(activation, name="positive"),
        ]
    )


def tf_buggy() -> keras.Model:
    return network("softplus")


def tf_fixed() -> keras.Model:
    return network(lambda x: keras.ops.softplus(3.0 * x) / 3.0)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(5, 7)).astype(np.float32)}
