"""A layer of dead units."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "dead_relu"
KIND = "control"
SUBJECT = "module"
TITLE = "A layer of dead units"
WHY = "All activations and all gradients behind them are zero on both sides; the output is not"


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("fc", nn.Linear(4, 7))
    net.add_module("act", nn.ReLU())
    net.add_module("out", nn.Linear(7, 2))
    with torch.no_grad():
        net.fc.bias.fill_(-50.0)
    return net


def tf_fixed() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(7, name="fc"),
            keras.layers.ReLU(name="act"),
            keras.layers.Dense(2, name="out"),
        ]
    )


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(5, 4)).astype(np.float32)}
