"""Activations of size 1e5."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "large_activations"
KIND = "control"
SUBJECT = "module"
TITLE = "Activations of size 1e5"
WHY = "float32 holds seven digits, so that an absolute difference of 0.01 is rounding here"


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("grow", nn.Linear(5, 20))
    net.add_module("act", nn.ReLU())
    net.add_module("out", nn.Linear(20, 3))
    with torch.no_grad():
        net.grow.weight.mul_(3e4)
    return net


def tf_fixed() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((5,)),
            keras.layers.Dense(20, activation="relu", name="grow"),
            keras.layers.Dense(3, name="out"),
        ]
    )


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(scale=4.0, size=(6, 5)).astype(np.float32)}
