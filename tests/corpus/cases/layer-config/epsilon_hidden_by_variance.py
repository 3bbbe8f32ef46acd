"""A wrong epsilon that large activations hide."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "epsilon_hidden_by_variance"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "A wrong epsilon that large activations hide"
SYMPTOM = "Everything agrees in the tests; in production, on quiet inputs, it does not"
WHY = "1e-3 against 1e-5 does not show where the variance is in the thousands"
CAUSE = "norm-epsilon"
FIX = "keras.layers.LayerNormalization(epsilon=1e-5)"
PLACE = "norm"
HIDDEN = True


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("norm", nn.LayerNorm(9))
    net.add_module("fc", nn.Linear(9, 4))
    return net


def network(epsilon: float) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((9,)),
            keras.layers.LayerNormalization(epsilon=epsilon, name="norm"),
            keras.layers.Dense(4, name="fc"),
        ]
    )


def tf_buggy() -> keras.Model:
    return network(1e-3)


def tf_fixed() -> keras.Model:
    return network(1e-5)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(scale=80.0, size=(5, 9)).astype(np.float32)}


def revealing(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(scale=0.1, size=(5, 9)).astype(np.float32)}
