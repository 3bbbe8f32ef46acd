"""The activation of a hidden layer is missing."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "activation_missing"
KIND = "activation"
SUBJECT = "module"
TITLE = "The activation of a hidden layer is missing"
SYMPTOM = "A two-layer network that is linear on one side"
WHY = "torch applies it in forward(); Dense has none unless asked for"
CAUSE = "activation-missing"
FIX = 'keras.layers.Dense(16, activation="tanh")'
PLACE = "l2/input"


class Value(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.l1 = nn.Linear(4, 16)
        self.l2 = nn.Linear(16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.l2(torch.tanh(self.l1(x)))


def torch_side() -> nn.Module:
    return Value()


def value(activation: str | None) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(16, activation=activation, name="l1"),
            keras.layers.Dense(1, name="l2"),
        ]
    )


def tf_buggy() -> keras.Model:
    return value(None)


def tf_fixed() -> keras.Model:
    return value("tanh")


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(5, 4)).astype(np.float32)}
