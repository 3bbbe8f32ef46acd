"""tf.nn.leaky_relu called without its slope."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F
from torch import nn

ID = "leaky_slope_functional"
KIND = "activation"
SUBJECT = "module"
TITLE = "tf.nn.leaky_relu called without its slope"
SYMPTOM = "The error sits between two layers that both agree when fed the same"
WHY = "The function's default is 0.2; torch's F.leaky_relu has 0.01"
CAUSE = "activation-slope"
FIX = "tf.nn.leaky_relu(x, alpha=0.01)"
PLACE = "out/input"


class Discriminator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 12)
        self.out = nn.Linear(12, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(F.leaky_relu(self.fc(x)))


def torch_side() -> nn.Module:
    return Discriminator()


class KerasDiscriminator(keras.Model):
    def __init__(self, **settings: float) -> None:
        super().__init__()
        self.fc = keras.layers.Dense(12)
        self.out = keras.layers.Dense(1)
        self.settings = settings

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.out(tf.nn.leaky_relu(self.fc(x), **self.settings))


def tf_buggy() -> keras.Model:
    return KerasDiscriminator()


def tf_fixed() -> keras.Model:
    return KerasDiscriminator(alpha=0.01)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(7, 4)).astype(np.float32)}
