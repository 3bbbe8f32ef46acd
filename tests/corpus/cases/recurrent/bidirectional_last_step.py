"""The last step of a bidirectional layer taken in two ways."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "bidirectional_last_step"
KIND = "recurrent"
SUBJECT = "module"
TITLE = "The last step of a bidirectional layer taken in two ways"
SYMPTOM = "The forward half agrees, the backward half does not"
WHY = (
    "output[:, -1] holds the backward state after one step; Keras returns the state after all steps"
)
CAUSE = "last-step"
FIX = "Bidirectional(LSTM(5, return_sequences=True)), then x[:, -1]"
PLACE = "out/input"


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(3, 5, batch_first=True, bidirectional=True)
        self.out = nn.Linear(10, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.rnn(x)[0][:, -1])


def torch_side() -> nn.Module:
    return Classifier()


def classifier(sequences: bool) -> keras.Model:
    x = inputs = keras.Input((7, 3))
    lstm = keras.layers.LSTM(5, return_sequences=sequences)
    x = keras.layers.Bidirectional(lstm, name="rnn")(x)
    if sequences:
        x = x[:, -1]
    return keras.Model(inputs, keras.layers.Dense(4, name="out")(x))


def tf_buggy() -> keras.Model:
    return classifier(False)


def tf_fixed() -> keras.Model:
    return classifier(True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(3, 7, 3)).astype(np.float32)}
