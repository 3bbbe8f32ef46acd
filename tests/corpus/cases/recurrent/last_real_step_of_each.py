"""The last step of the padded sequence in place of each sequence's own last one."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "last_real_step_of_each"
KIND = "recurrent"
SUBJECT = "module"
TITLE = "The last step of the padded sequence in place of each sequence's own last one"
SYMPTOM = "Long sequences agree, short ones are summarised behind their end"
WHY = "out[rows, length - 1] became out[:, -1]"
CAUSE = "other-operand|last-step"
FIX = "tf.gather(out, length - 1, axis=1, batch_dims=1)"
PLACE = "head/input"


class Summary(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 6, batch_first=True)
        self.head = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
        out, _ = self.lstm(x)
        return self.head(out[torch.arange(len(out)), length - 1])


def torch_side() -> nn.Module:
    return Summary()


class KerasSummary(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = keras.layers.LSTM(6, return_sequences=True)
        self.head = keras.layers.Dense(2)

    def call(self, x: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        return self.head(self.chosen(self.lstm(x), length))

    def chosen(self, out: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        return out[:, -1]


class KerasOwnLast(KerasSummary):
    def chosen(self, out: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        return tf.gather(out, length - 1, axis=1, batch_dims=1)


def tf_buggy() -> keras.Model:
    return KerasSummary()


def tf_fixed() -> keras.Model:
    return KerasOwnLast()


def inputs(seed: int) -> dict[str, np.ndarray]:
    x = np.random.default_rng(seed).normal(size=(4, 7, 3)).astype(np.float32)
    return {"x": x, "length": np.array([7, 2, 5, 3])}
