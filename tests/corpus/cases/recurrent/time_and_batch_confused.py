"""A recurrent layer that runs over the batch."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "time_and_batch_confused"
KIND = "recurrent"
SUBJECT = "module"
TITLE = "A recurrent layer that runs over the batch"
SYMPTOM = "Rows of a batch influence each other; shuffling the batch changes the results"
WHY = (
    "nn.LSTM without batch_first wants [time, batch, features], Keras always [batch, time, "
    "features]"
)
CAUSE = "time-axis"
FIX = "Transpose to [batch, time, features] before the Keras layer, and back behind it"
PLACE = "rnn"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(4, 6)
        self.out = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.rnn(x)[0])


def torch_side() -> nn.Module:
    return Net()


class KerasNet(keras.Model):
    def __init__(self, transpose: bool) -> None:
        super().__init__()
        self.rnn = keras.layers.LSTM(6, return_sequences=True)
        self.out = keras.layers.Dense(2)
        self.transpose = transpose

    def call(self, x: tf.Tensor) -> tf.Tensor:
        if not self.transpose:
            return self.out(self.rnn(x))
        return self.out(tf.transpose(self.rnn(tf.transpose(x, [1, 0, 2])), [1, 0, 2]))


def tf_buggy() -> keras.Model:
    return KerasNet(transpose=False)


def tf_fixed() -> keras.Model:
    return KerasNet(transpose=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(7, 3, 4)).astype(np.float32)}
