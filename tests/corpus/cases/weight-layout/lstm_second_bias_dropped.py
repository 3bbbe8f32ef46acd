"""Only one of the two LSTM biases copied."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "lstm_second_bias_dropped"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "Only one of the two LSTM biases copied"
SYMPTOM = "Small errors from the first step on, growing along the sequence"
WHY = (
    "torch has an input bias and a recurrent bias, the Keras LSTM one bias that must hold their sum"
)
CAUSE = "bias-dropped"
FIX = "lstm.set_weights([w_ih.T, w_hh.T, b_ih + b_hh])"
PLACE = "rnn"
OPTIONS = {"weights": "keep"}
FLOAT32_CONSTANTS = True


class Last(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(2, 7, batch_first=True)
        self.out = nn.Linear(7, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.rnn(x)[0])


def torch_side() -> nn.Module:
    torch.manual_seed(28)
    return Last()


def copied(both: bool) -> keras.Model:
    source = torch_side()
    rnn = keras.layers.LSTM(7, return_sequences=True, name="rnn")
    out = keras.layers.Dense(3, name="out")
    model = keras.Sequential([keras.Input((5, 2)), rnn, out])
    theirs = {name: value.detach().numpy() for name, value in source.rnn.named_parameters()}
    bias = theirs["bias_ih_l0"] + (theirs["bias_hh_l0"] if both else 0.0)
    rnn.set_weights([theirs["weight_ih_l0"].T, theirs["weight_hh_l0"].T, bias])
    out.set_weights([source.out.weight.detach().numpy().T, source.out.bias.detach().numpy()])
    return model


def tf_buggy() -> keras.Model:
    return copied(both=False)


def tf_fixed() -> keras.Model:
    return copied(both=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(4, 5, 2)).astype(np.float32)}
