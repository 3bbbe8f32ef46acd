"""RMSNorm with the epsilon of another model family."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "rmsnorm_epsilon"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "RMSNorm with the epsilon of another model family"
SYMPTOM = "Agreement for loud inputs, a relative error that grows as the input becomes quiet"
WHY = "The torch model was trained with 1e-5, the Keras layer's default is 1e-6"
CAUSE = "norm-epsilon"
FIX = "keras.layers.RMSNormalization(epsilon=1e-5)"
PLACE = "scale"


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("scale", nn.RMSNorm(10, eps=1e-5))
    net.add_module("out", nn.Linear(10, 4, bias=False))
    return net


def network(**settings: float) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((3, 10)),
            keras.layers.RMSNormalization(name="scale", **settings),
            keras.layers.Dense(4, use_bias=False, name="out"),
        ]
    )


def tf_buggy() -> keras.Model:
    return network()


def tf_fixed() -> keras.Model:
    return network(epsilon=1e-5)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(scale=0.05, size=(4, 3, 10)).astype(np.float32)}
