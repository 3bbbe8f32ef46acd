"""The hard sigmoid of older Keras code."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "hard_sigmoid_formula"
KIND = "activation"
SUBJECT = "module"
TITLE = "The hard sigmoid of older Keras code"
SYMPTOM = "Gates differ by up to 0.03 on both flanks and agree at zero"
WHY = "clip(0.2 x + 0.5) against clip(x / 6 + 0.5)"
CAUSE = "activation-variant"
FIX = "keras.activations.hard_sigmoid, which has the slope 1/6 since Keras 3"
PLACE = "gate"
FLOAT32_CONSTANTS = True


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("fc", nn.Linear(4, 11))
    net.add_module("gate", nn.Hardsigmoid())
    return net


def network(activation: object) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(11, name="fc"),
            keras.layers.Activation(activation, name="gate"),
        ]
    )


def tf_buggy() -> keras.Model:
    return network(lambda x: keras.ops.clip(0.2 * x + 0.5, 0.0, 1.0))


def tf_fixed() -> keras.Model:
    return network("hard_sigmoid")


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(scale=2.0, size=(6, 4)).astype(np.float32)}
