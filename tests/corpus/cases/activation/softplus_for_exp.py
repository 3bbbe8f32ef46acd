"""A standard deviation from softplus in place of exp."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "softplus_for_exp"
KIND = "activation"
SUBJECT = "module"
TITLE = "A standard deviation from softplus in place of exp"
SYMPTOM = "The spread of the policy is right near zero only"
WHY = "torch exponentiates the log standard deviation"
CAUSE = "activation-variant|other-function"
FIX = "tf.exp(log_std)"
PLACE = "output"


class Actor(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.spread = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.exp(self.spread(torch.tanh(self.body(x))))


def torch_side() -> nn.Module:
    return Actor()


class KerasActor(keras.Model):
    def __init__(self, soft: bool) -> None:
        super().__init__()
        self.body = keras.layers.Dense(8, activation="tanh")
        self.spread = keras.layers.Dense(2)
        self.soft = soft

    def call(self, x: tf.Tensor) -> tf.Tensor:
        raw = self.spread(self.body(x))
        return tf.nn.softplus(raw) if self.soft else tf.exp(raw)


def tf_buggy() -> keras.Model:
    return KerasActor(soft=True)


def tf_fixed() -> keras.Model:
    return KerasActor(soft=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(6, 4)).astype(np.float32)}
