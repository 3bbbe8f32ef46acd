"""Sine and cosine joined in the other order."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "sine_and_cosine_joined_otherwise"
KIND = "numerics"
SUBJECT = "module"
TITLE = "Sine and cosine joined in the other order"
SYMPTOM = "Copied weights multiply the wrong features"
WHY = "torch puts the sines first"
CAUSE = "feature-order|operand-order|concat-order"
FIX = "tf.concat([tf.sin(turns), tf.cos(turns)], axis=-1)"
PLACE = "out/input"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 3)
        self.out = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        turns = self.inner(x)
        return self.out(torch.cat([turns.sin(), turns.cos()], -1))


def torch_side() -> nn.Module:
    return Net()


class KerasNet(keras.Model):
    def __init__(self, sine_first: bool) -> None:
        super().__init__()
        self.inner = keras.layers.Dense(3)
        self.out = keras.layers.Dense(2)
        self.sine_first = sine_first

    def call(self, x: tf.Tensor) -> tf.Tensor:
        turns = self.inner(x)
        parts = [tf.sin(turns), tf.cos(turns)]
        return self.out(tf.concat(parts if self.sine_first else parts[::-1], axis=-1))


def tf_buggy() -> keras.Model:
    return KerasNet(sine_first=False)


def tf_fixed() -> keras.Model:
    return KerasNet(sine_first=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(5, 2)).astype(np.float32)}
