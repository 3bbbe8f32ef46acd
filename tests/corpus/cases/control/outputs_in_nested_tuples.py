"""Outputs in nested tuples."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "outputs_in_nested_tuples"
KIND = "control"
SUBJECT = "module"
TITLE = "Outputs in nested tuples"
WHY = "A recurrent state beside the output, a pair within a pair"


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(3, 4, batch_first=True)
        self.out = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> tuple:
        states, (h, c) = self.rnn(x)
        return self.out(states), (h[0], c[0])


def torch_side() -> nn.Module:
    return Recurrent()


class KerasRecurrent(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = keras.layers.LSTM(4, return_sequences=True, return_state=True)
        self.out = keras.layers.Dense(2)

    def call(self, x: tf.Tensor) -> tuple:
        states, h, c = self.rnn(x)
        return self.out(states), (h, c)


def tf_fixed() -> keras.Model:
    return KerasRecurrent()


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(3, 5, 3)).astype(np.float32)}
