"""The mean of two critics in place of the smaller."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "twin_critics_averaged"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "The mean of two critics in place of the smaller"
SYMPTOM = "Targets are too optimistic"
WHY = "Twin critics take the minimum"
CAUSE = "other-operation|layer-setting"
FIX = "tf.minimum(self.first(x), self.second(x))"
PLACE = "output"


class Twin(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(5, 1)
        self.second = nn.Linear(5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.minimum(self.first(x), self.second(x))


def torch_side() -> nn.Module:
    return Twin()


class KerasTwin(keras.Model):
    def __init__(self, smaller: bool) -> None:
        super().__init__()
        self.first = keras.layers.Dense(1)
        self.second = keras.layers.Dense(1)
        self.smaller = smaller

    def call(self, x: tf.Tensor) -> tf.Tensor:
        a, b = self.first(x), self.second(x)
        return tf.minimum(a, b) if self.smaller else (a + b) / 2


def tf_buggy() -> keras.Model:
    return KerasTwin(smaller=False)


def tf_fixed() -> keras.Model:
    return KerasTwin(smaller=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(7, 5)).astype(np.float32)}
