"""The mean over features in place of time."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "pooled_over_features"
KIND = "pooling"
SUBJECT = "module"
TITLE = "The mean over features in place of time"
SYMPTOM = "Shapes fit because there are as many steps as features"
WHY = "Keras has time on axis 1"
CAUSE = "reduction-axis"
FIX = "tf.reduce_mean(x, axis=1)"
PLACE = "out/input"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 6)
        self.out = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.relu(self.inner(x)).mean(dim=1))


def torch_side() -> nn.Module:
    return Net()


class KerasNet(keras.Model):
    def __init__(self, axis: int) -> None:
        super().__init__()
        self.inner = keras.layers.Dense(6, activation="relu")
        self.out = keras.layers.Dense(2)
        self.axis = axis

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.out(tf.reduce_mean(self.inner(x), axis=self.axis))


def tf_buggy() -> keras.Model:
    return KerasNet(2)


def tf_fixed() -> keras.Model:
    return KerasNet(1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(4, 6, 3)).astype(np.float32)}
