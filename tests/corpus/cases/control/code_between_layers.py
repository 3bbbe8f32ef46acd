"""Plain code between layers."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "code_between_layers"
KIND = "control"
SUBJECT = "module"
TITLE = "Plain code between layers"
WHY = (
    "A square, a mean over time and a sum stand between the layers, in each framework's own "
    "functions"
)


class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 8)
        self.second = nn.Linear(8, 5)
        self.third = nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pooled = self.first(x).square().mean(dim=1)
        y = self.second(pooled)
        return self.third(y * torch.sigmoid(y) + 0.5)


def torch_side() -> nn.Module:
    return Mixed()


class KerasMixed(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.first = keras.layers.Dense(8)
        self.second = keras.layers.Dense(5)
        self.third = keras.layers.Dense(2)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        y = self.second(tf.reduce_mean(tf.square(self.first(x)), axis=1))
        return self.third(tf.nn.silu(y) + 0.5)


def tf_fixed() -> keras.Model:
    return KerasMixed()


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(4, 6, 3)).astype(np.float32)}
