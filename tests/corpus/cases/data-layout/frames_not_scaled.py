"""Frames fed as 0 to 255."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "frames_not_scaled"
KIND = "data-layout"
SUBJECT = "module"
TITLE = "Frames fed as 0 to 255"
SYMPTOM = "The first layer saturates and nothing is learned"
WHY = "torch divides by 255 inside the network"
CAUSE = "factor|missing-factor|constant-factor"
FIX = "x = tf.cast(x, tf.float32) / 255.0"
PLACE = "conv/input|conv"
CHANNELS_LAST = True


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.conv(x / 255.0))


def torch_side() -> nn.Module:
    return Net()


class KerasNet(keras.Model):
    def __init__(self, scaled: bool) -> None:
        super().__init__()
        self.conv = keras.layers.Conv2D(3, 3, activation="tanh")
        self.scaled = scaled

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.conv(x / 255.0 if self.scaled else x)


def tf_buggy() -> keras.Model:
    return KerasNet(scaled=False)


def tf_fixed() -> keras.Model:
    return KerasNet(scaled=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, size=(2, 2, 5, 5)).astype(np.float32)
    return {"torch": [x], "tf": [np.moveaxis(x, 1, -1)]}
