"""The centre of the action range is not added."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F
from torch import nn

ID = "action_centre_forgotten"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "The centre of the action range is not added"
SYMPTOM = "Actions are symmetric around zero although the range is not"
WHY = "The range is low + (tanh + 1) / 2 * (high - low)"
CAUSE = "missing-term|shift"
FIX = "1.5 * tf.tanh(x) + 0.5"
PLACE = "output"


class Actor(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(3, 6)
        self.out = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 1.5 * torch.tanh(self.out(F.elu(self.body(x)))) + 0.5


def torch_side() -> nn.Module:
    return Actor()


class KerasActor(keras.Model):
    def __init__(self, centre: float) -> None:
        super().__init__()
        self.body = keras.layers.Dense(6, activation="elu")
        self.out = keras.layers.Dense(2, activation="tanh")
        self.centre = centre

    def call(self, x: tf.Tensor) -> tf.Tensor:
        action = 1.5 * self.out(self.body(x))
        return action + self.centre if self.centre else action


def tf_buggy() -> keras.Model:
    return KerasActor(0.0)


def tf_fixed() -> keras.Model:
    return KerasActor(0.5)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(6, 3)).astype(np.float32)}
