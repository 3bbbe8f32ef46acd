"""A plain RNN with the other nonlinearity."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "rnn_nonlinearity"
KIND = "recurrent"
SUBJECT = "module"
TITLE = "A plain RNN with the other nonlinearity"
SYMPTOM = "States are bounded on one side only"
WHY = 'nn.RNN was built with nonlinearity="relu", SimpleRNN kept its tanh'
CAUSE = "activation-variant"
FIX = 'keras.layers.SimpleRNN(7, activation="relu")'
PLACE = "rnn"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.RNN(3, 7, nonlinearity="relu", batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rnn(x)[0]


def torch_side() -> nn.Module:
    return Net()


def network(activation: str) -> keras.Model:
    rnn = keras.layers.SimpleRNN(7, activation=activation, return_sequences=True, name="rnn")
    return keras.Sequential([keras.Input((5, 3)), rnn])


def tf_buggy() -> keras.Model:
    return network("tanh")


def tf_fixed() -> keras.Model:
    return network("relu")


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(4, 5, 3)).astype(np.float32)}
