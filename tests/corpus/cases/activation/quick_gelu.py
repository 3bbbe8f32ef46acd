"""SiLU where the model was trained with x * sigmoid(1.702 x)."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "quick_gelu"
KIND = "activation"
SUBJECT = "module"
TITLE = "SiLU where the model was trained with x * sigmoid(1.702 x)"
SYMPTOM = "A transformer's hidden states drift apart by a few per cent per block"
WHY = "Both are called 'swish' somewhere; the factor inside the sigmoid is the difference"
CAUSE = "activation-variant"
FIX = "lambda x: x * keras.ops.sigmoid(1.702 * x)"
PLACE = "act"


class QuickGELU(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(1.702 * x)


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("up", nn.Linear(5, 13))
    net.add_module("act", QuickGELU())
    net.add_module("down", nn.Linear(13, 5))
    return net


def network(activation: object) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((5,)),
            keras.layers.Dense(13, name="up"),
            keras.layers.Activation(activation, name="act"),
            keras.layers.Dense(5, name="down"),
        ]
    )


def tf_buggy() -> keras.Model:
    return network("silu")


def tf_fixed() -> keras.Model:
    return network(lambda x: x * keras.ops.sigmoid(1.702 * x))


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(6, 5)).astype(np.float32)}
