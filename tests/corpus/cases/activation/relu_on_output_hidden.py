"""A ReLU on the output that positive values hide."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "relu_on_output_hidden"
KIND = "activation"
SUBJECT = "module"
TITLE = "A ReLU on the output that positive values hide"
SYMPTOM = "The test agrees; later every negative value is reported as 0"
WHY = "The last layer was ported with the activation of the hidden ones"
CAUSE = "activation-extra"
FIX = "keras.layers.Dense(1), without an activation"
PLACE = "output"
HIDDEN = True


def torch_side() -> nn.Module:
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    with torch.no_grad():
        net[0].bias.zero_()
        net[2].weight.abs_()
        net[2].bias.fill_(-0.3)
    return net


def network(last: str | None) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(8, activation="relu"),
            keras.layers.Dense(1, activation=last),
        ]
    )


def tf_buggy() -> keras.Model:
    return network("relu")


def tf_fixed() -> keras.Model:
    return network(None)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(scale=9.0, size=(4, 3)).astype(np.float32)}


def revealing(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.zeros((4, 3), np.float32)}
