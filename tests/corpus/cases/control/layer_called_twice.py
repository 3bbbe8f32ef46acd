"""One layer called twice."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "layer_called_twice"
KIND = "control"
SUBJECT = "module"
TITLE = "One layer called twice"
WHY = "Both calls use the same weights; they are two steps of the execution and one set of tensors"


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(6, 6)
        self.out = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.tanh(self.inner(torch.tanh(self.inner(x)))))


def torch_side() -> nn.Module:
    return Twice()


class KerasTwice(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.inner = keras.layers.Dense(6)
        self.out = keras.layers.Dense(2)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.out(tf.tanh(self.inner(tf.tanh(self.inner(x)))))


def tf_fixed() -> keras.Model:
    return KerasTwice()


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(4, 6)).astype(np.float32)}
