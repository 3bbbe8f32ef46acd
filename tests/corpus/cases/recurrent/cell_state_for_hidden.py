"""The cell state in place of the hidden state."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "cell_state_for_hidden"
KIND = "recurrent"
SUBJECT = "module"
TITLE = "The cell state in place of the hidden state"
SYMPTOM = "The head sees values beyond 1"
WHY = "A Keras LSTM returns output, hidden, cell; the port takes the last"
CAUSE = "other-operand"
FIX = "_, hidden, _ = self.rnn(x)"
PLACE = "head/input"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(4, 5, batch_first=True)
        self.head = nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        _, (hidden, _) = self.rnn(x)
        return self.head(hidden[-1])


def torch_side() -> nn.Module:
    return Net()


class KerasNet(keras.Model):
    def __init__(self, cell: bool) -> None:
        super().__init__()
        self.rnn = keras.layers.LSTM(5, return_state=True)
        self.head = keras.layers.Dense(2)
        self.cell = cell

    def call(self, x: tf.Tensor) -> tf.Tensor:
        _, hidden, cell = self.rnn(x)
        return self.head(cell if self.cell else hidden)


def tf_buggy() -> keras.Model:
    return KerasNet(cell=True)


def tf_fixed() -> keras.Model:
    return KerasNet(cell=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(3, 6, 4)).astype(np.float32)}
