"""Key biases of attention, whose gradient is zero."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "attention_key_bias"
KIND = "control"
SUBJECT = "module"
TITLE = "Key biases of attention, whose gradient is zero"
WHY = (
    "Softmax does not see what is added to all scores of a row; the computed gradient is "
    "rounding on both sides and agrees with nothing"
)
FLOAT32_CONSTANTS = True


class Attend(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(6, 2, batch_first=True)
        with torch.no_grad():
            self.attend.in_proj_bias.uniform_(-0.5, 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.attend(x, x, x, need_weights=False)[0]


def torch_side() -> nn.Module:
    return Attend()


class KerasAttend(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.attend = keras.layers.MultiHeadAttention(2, 3)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.attend(x, x)


def tf_fixed() -> keras.Model:
    return KerasAttend()


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(3, 5, 6)).astype(np.float32)}
