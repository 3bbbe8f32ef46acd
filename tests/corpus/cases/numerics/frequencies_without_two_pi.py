"""Fourier features without 2 pi."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "frequencies_without_two_pi"
KIND = "numerics"
SUBJECT = "module"
TITLE = "Fourier features without 2 pi"
SYMPTOM = "Copied weights see slower waves"
WHY = "The frequencies count whole turns"
CAUSE = "constant-factor|missing-factor|constant|factor"
FIX = "tf.sin(2 * np.pi * x * FREQUENCIES)"
PLACE = "out/input"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        turns = 2 * torch.pi * x[:, None] * torch.tensor([1.0, 2.0, 4.0], dtype=x.dtype)
        return self.out(torch.cat([turns.sin(), turns.cos()], -1))


def torch_side() -> nn.Module:
    return Net()


class KerasNet(keras.Model):
    def __init__(self, turn: float) -> None:
        super().__init__()
        self.out = keras.layers.Dense(2)
        self.turn = turn

    def call(self, x: tf.Tensor) -> tf.Tensor:
        turns = self.turn * x[:, None] * tf.constant([1.0, 2.0, 4.0], x.dtype)
        return self.out(tf.concat([tf.sin(turns), tf.cos(turns)], axis=-1))


def tf_buggy() -> keras.Model:
    return KerasNet(1.0)


def tf_fixed() -> keras.Model:
    return KerasNet(2 * np.pi)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.uniform(-0.4, 0.4, size=7).astype(np.float32)}
