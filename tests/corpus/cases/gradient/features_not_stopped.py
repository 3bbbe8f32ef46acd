"""The auxiliary head trains the encoder."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "features_not_stopped"
KIND = "gradient"
SUBJECT = "module"
TITLE = "The auxiliary head trains the encoder"
SYMPTOM = "The encoder follows the auxiliary task"
WHY = "torch detaches the features before this head"
CAUSE = "stop-gradient-missing"
FIX = "self.head(tf.stop_gradient(features))"
PLACE = "grad/encoder|encoder"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(4, 6)
        self.value = nn.Linear(6, 1)
        self.extra = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        z = torch.tanh(self.encoder(x))
        return self.value(z), self.extra(z.detach())


def torch_side() -> nn.Module:
    return Net()


class KerasNet(keras.Model):
    def __init__(self, stopped: bool) -> None:
        super().__init__()
        self.encoder = keras.layers.Dense(6, activation="tanh")
        self.value = keras.layers.Dense(1)
        self.extra = keras.layers.Dense(3)
        self.stopped = stopped

    def call(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        z = self.encoder(x)
        return self.value(z), self.extra(tf.stop_gradient(z) if self.stopped else z)


def tf_buggy() -> keras.Model:
    return KerasNet(stopped=False)


def tf_fixed() -> keras.Model:
    return KerasNet(stopped=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(5, 4)).astype(np.float32)}
