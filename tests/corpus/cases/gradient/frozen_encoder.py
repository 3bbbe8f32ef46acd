"""The encoder is frozen by mistake."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "frozen_encoder"
KIND = "gradient"
SUBJECT = "module"
TITLE = "The encoder is frozen by mistake"
SYMPTOM = "Only the head learns"
WHY = "trainable was set to False for a fine-tuning run"
CAUSE = "stop-gradient-extra"
FIX = "encoder.trainable = True"
PLACE = "grad/encoder|encoder"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(4, 6)
        self.head = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.encoder(x)))


def torch_side() -> nn.Module:
    return Net()


class KerasNet(keras.Model):
    def __init__(self, stopped: bool) -> None:
        super().__init__()
        self.encoder = keras.layers.Dense(6, activation="tanh")
        self.head = keras.layers.Dense(2)
        self.stopped = stopped

    def call(self, x: tf.Tensor) -> tf.Tensor:
        z = self.encoder(x)
        return self.head(tf.stop_gradient(z) if self.stopped else z)


def tf_buggy() -> keras.Model:
    return KerasNet(stopped=True)


def tf_fixed() -> keras.Model:
    return KerasNet(stopped=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(5, 4)).astype(np.float32)}
