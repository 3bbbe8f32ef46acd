"""The output of a backward layer left in reversed time."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "backwards_not_flipped"
KIND = "recurrent"
SUBJECT = "module"
TITLE = "The output of a backward layer left in reversed time"
SYMPTOM = "Right numbers at the mirrored time steps"
WHY = "go_backwards=True returns the sequence as it was read, last step first"
CAUSE = "reversed-time"
FIX = "tf.reverse(self.back(x), axis=[1])"
PLACE = "out/input"


class Backward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.back = nn.GRU(3, 5, batch_first=True)
        self.out = nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.back(x.flip(1))[0].flip(1))


def torch_side() -> nn.Module:
    return Backward()


class KerasBackward(keras.Model):
    def __init__(self, flip: bool) -> None:
        super().__init__()
        self.back = keras.layers.GRU(5, return_sequences=True, go_backwards=True)
        self.out = keras.layers.Dense(2)
        self.flip = flip

    def call(self, x: tf.Tensor) -> tf.Tensor:
        x = self.back(x)
        return self.out(tf.reverse(x, axis=[1]) if self.flip else x)


def tf_buggy() -> keras.Model:
    return KerasBackward(flip=False)


def tf_fixed() -> keras.Model:
    return KerasBackward(flip=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(2, 6, 3)).astype(np.float32)}
