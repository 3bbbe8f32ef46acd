"""SELU in place of ELU, fused into the layer."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "selu_for_elu"
KIND = "activation"
SUBJECT = "module"
TITLE = "SELU in place of ELU, fused into the layer"
SYMPTOM = "Hidden values are five per cent too large"
WHY = "SELU is a scaled ELU with another alpha"
CAUSE = "activation-variant|other-activation"
FIX = 'keras.layers.Dense(9, activation="elu")'
PLACE = "act|out/input"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 9)
        self.act = nn.ELU()
        self.out = nn.Linear(9, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.act(self.inner(x)))


def torch_side() -> nn.Module:
    return Net()


def model(act: str) -> keras.Model:
    return keras.Sequential(
        [keras.layers.Input((4,)), keras.layers.Dense(9, activation=act), keras.layers.Dense(3)]
    )


def tf_buggy() -> keras.Model:
    return model("selu")


def tf_fixed() -> keras.Model:
    return model("elu")


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(5, 4)).astype(np.float32)}
