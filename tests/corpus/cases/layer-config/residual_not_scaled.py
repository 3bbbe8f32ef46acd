"""The branch of a residual block is not scaled."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "residual_not_scaled"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "The branch of a residual block is not scaled"
SYMPTOM = "Deep networks with copied weights explode"
WHY = "torch adds a tenth of the branch"
CAUSE = "constant-factor|constant-differs|factor"
FIX = "x + 0.1 * self.branch(x)"
PLACE = "out/input"


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.branch = nn.Linear(6, 6)
        self.out = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(x + 0.1 * torch.tanh(self.branch(x)))


def torch_side() -> nn.Module:
    return Block()


class KerasBlock(keras.Model):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.branch = keras.layers.Dense(6, activation="tanh")
        self.out = keras.layers.Dense(2)
        self.scale = scale

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.out(x + self.scale * self.branch(x))


def tf_buggy() -> keras.Model:
    return KerasBlock(1.0)


def tf_fixed() -> keras.Model:
    return KerasBlock(0.1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(5, 6)).astype(np.float32)}
