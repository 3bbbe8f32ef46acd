"""The skip connection around a block is missing."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "residual_forgotten"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "The skip connection around a block is missing"
SYMPTOM = "The first blocks agree, the network is wrong from the first residual block on"
WHY = "The addition is plain code between layers, and was not ported"
CAUSE = "residual-missing"
FIX = "x = x + self.second(tf.nn.relu(self.first(x)))"
PLACE = "out/input"


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 11)
        self.second = nn.Linear(11, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(x + self.second(torch.relu(self.first(x))))


def torch_side() -> nn.Module:
    return Residual()


class KerasResidual(keras.Model):
    def __init__(self, skip: bool) -> None:
        super().__init__()
        self.first = keras.layers.Dense(11)
        self.second = keras.layers.Dense(8)
        self.out = keras.layers.Dense(3)
        self.skip = skip

    def call(self, x: tf.Tensor) -> tf.Tensor:
        y = self.second(tf.nn.relu(self.first(x)))
        return self.out(x + y if self.skip else y)


def tf_buggy() -> keras.Model:
    return KerasResidual(skip=False)


def tf_fixed() -> keras.Model:
    return KerasResidual(skip=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(4, 8)).astype(np.float32)}
