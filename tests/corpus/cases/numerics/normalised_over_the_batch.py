"""Rows scaled by the norm of the whole batch."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F
from torch import nn

ID = "normalised_over_the_batch"
KIND = "numerics"
SUBJECT = "module"
TITLE = "Rows scaled by the norm of the whole batch"
SYMPTOM = "A row's features depend on the other rows"
WHY = "tf.math.l2_normalize without axis takes the norm of everything"
CAUSE = "reduction-axis|normalisation"
FIX = "tf.math.l2_normalize(x, axis=-1)"
PLACE = "out/input"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 5)
        self.out = nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(F.normalize(self.inner(x), dim=-1))


def torch_side() -> nn.Module:
    return Net()


class KerasNet(keras.Model):
    def __init__(self, axis: int | None) -> None:
        super().__init__()
        self.inner = keras.layers.Dense(5)
        self.out = keras.layers.Dense(2)
        self.axis = axis

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.out(tf.math.l2_normalize(self.inner(x), axis=self.axis))


def tf_buggy() -> keras.Model:
    return KerasNet(None)


def tf_fixed() -> keras.Model:
    return KerasNet(-1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(6, 3)).astype(np.float32)}
