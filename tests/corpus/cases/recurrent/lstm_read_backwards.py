"""An LSTM that reads the sequence from its end."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "lstm_read_backwards"
KIND = "recurrent"
SUBJECT = "module"
TITLE = "An LSTM that reads the sequence from its end"
SYMPTOM = "The state reflects the oldest observation"
WHY = "go_backwards is on"
CAUSE = "reversed-time|layer-setting"
FIX = "keras.layers.LSTM(5, return_sequences=True)"
PLACE = "rnn"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(4, 5, batch_first=True)
        self.head = nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states, _ = self.rnn(x)
        return self.head(states)


def torch_side() -> nn.Module:
    return Net()


def model(backwards: bool) -> keras.Model:
    return keras.Sequential(
        [
            keras.layers.Input((6, 4)),
            keras.layers.LSTM(5, return_sequences=True, go_backwards=backwards),
            keras.layers.Dense(2),
        ]
    )


def tf_buggy() -> keras.Model:
    return model(True)


def tf_fixed() -> keras.Model:
    return model(False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(3, 6, 4)).astype(np.float32)}
