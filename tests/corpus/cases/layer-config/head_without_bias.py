"""The last layer has no bias."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "head_without_bias"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "The last layer has no bias"
SYMPTOM = "Values are off by one constant per output"
WHY = "use_bias is off on one side only"
CAUSE = "bias-missing"
FIX = "keras.layers.Dense(2)"
PLACE = "out"


def torch_side() -> nn.Module:
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU())
    net.add_module("out", nn.Linear(6, 2))
    return net


def model(bias: bool) -> keras.Model:
    return keras.Sequential(
        [
            keras.layers.Input((4,)),
            keras.layers.Dense(6, activation="relu"),
            keras.layers.Dense(2, use_bias=bias),
        ]
    )


def tf_buggy() -> keras.Model:
    return model(False)


def tf_fixed() -> keras.Model:
    return model(True)


def copy_weights(module: nn.Module, model: keras.Model) -> None:
    for ours, theirs in zip((module[0], module.out), model.layers, strict=True):
        both = [ours.weight.detach().numpy().T, ours.bias.detach().numpy()]
        theirs.set_weights(both[: len(theirs.get_weights())])


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(6, 4)).astype(np.float32)}
