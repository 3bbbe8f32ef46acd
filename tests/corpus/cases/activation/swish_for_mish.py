"""Swish where torch has Mish."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "swish_for_mish"
KIND = "activation"
SUBJECT = "module"
TITLE = "Swish where torch has Mish"
SYMPTOM = "Values agree to one digit, and training curves nearly agree"
WHY = "The two curves look alike"
CAUSE = "activation-variant|other-activation"
FIX = "keras.activations.mish"
PLACE = "act|1|3|output"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(5, 7)
        self.act = nn.Mish()
        self.out = nn.Linear(7, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.act(self.inner(x)))


def torch_side() -> nn.Module:
    return Net()


def model(act: str) -> keras.Model:
    return keras.Sequential(
        [
            keras.layers.Input((5,)),
            keras.layers.Dense(7),
            keras.layers.Activation(act),
            keras.layers.Dense(2),
        ]
    )


def tf_buggy() -> keras.Model:
    return model("swish")


def tf_fixed() -> keras.Model:
    return model("mish")


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(6, 5)).astype(np.float32)}
