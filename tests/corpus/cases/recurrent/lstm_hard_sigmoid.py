"""An LSTM whose gates use the hard sigmoid."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "lstm_hard_sigmoid"
KIND = "recurrent"
SUBJECT = "module"
TITLE = "An LSTM whose gates use the hard sigmoid"
SYMPTOM = "States drift apart slowly along the sequence"
WHY = (
    'Keras before 2.3 had recurrent_activation="hard_sigmoid" as the default, and old configs'
    " carry it on"
)
CAUSE = "activation-variant"
FIX = 'keras.layers.LSTM(6, recurrent_activation="sigmoid")'
PLACE = "rnn"
FLOAT32_CONSTANTS = True


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(3, 6, batch_first=True)
        self.out = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.rnn(x)[0])


def torch_side() -> nn.Module:
    return Net()


def network(gates: str) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((8, 3)),
            keras.layers.LSTM(6, recurrent_activation=gates, return_sequences=True, name="rnn"),
            keras.layers.Dense(2, name="out"),
        ]
    )


def tf_buggy() -> keras.Model:
    return network("hard_sigmoid")


def tf_fixed() -> keras.Model:
    return network("sigmoid")


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(scale=2.0, size=(4, 8, 3)).astype(np.float32)}
