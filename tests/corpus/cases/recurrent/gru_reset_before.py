"""A GRU that resets the state before the recurrent product."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "gru_reset_before"
KIND = "recurrent"
SUBJECT = "module"
TITLE = "A GRU that resets the state before the recurrent product"
SYMPTOM = (
    "Small differences from the second step on; the first step agrees if the state starts at zero"
)
WHY = "torch resets after the product (reset_after=True, Keras's default), the paper before it"
CAUSE = "reset-after"
FIX = "keras.layers.GRU(5, reset_after=True)"
PLACE = "gru"
OPTIONS = {"weights": "keep"}


class Summary(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(4, 5, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gru(x)[0]


def torch_side() -> nn.Module:
    torch.manual_seed(36)
    return Summary()


def copied(reset_after: bool) -> keras.Model:
    rnn = torch_side().gru
    gru = keras.layers.GRU(5, return_sequences=True, reset_after=reset_after, name="gru")
    model = keras.Sequential([keras.Input((6, 4)), gru])

    def gates(tensor: torch.Tensor) -> np.ndarray:
        reset, update, new = np.split(tensor.detach().numpy(), 3)
        return np.concatenate([update, reset, new])

    biases = [gates(rnn.bias_ih_l0), gates(rnn.bias_hh_l0)]
    bias = np.stack(biases) if reset_after else biases[0] + biases[1]
    gru.set_weights([gates(rnn.weight_ih_l0).T, gates(rnn.weight_hh_l0).T, bias])
    return model


def tf_buggy() -> keras.Model:
    return copied(reset_after=False)


def tf_fixed() -> keras.Model:
    return copied(reset_after=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(3, 6, 4)).astype(np.float32)}
