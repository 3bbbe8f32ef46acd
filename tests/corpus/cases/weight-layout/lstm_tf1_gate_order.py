"""LSTM gates reordered for a TF1 cell."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "lstm_tf1_gate_order"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "LSTM gates reordered for a TF1 cell"
SYMPTOM = "The state grows or dies within a few steps"
WHY = (
    "The old tf.nn cell had input, candidate, forget, output; Keras has torch's own input, "
    "forget, candidate, output"
)
CAUSE = "gate-order"
FIX = "Copy the four blocks in the order they have"
PLACE = "cell"
OPTIONS = {"weights": "keep"}
FLOAT32_CONSTANTS = True


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(4, 5, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.cell(x)[0]


def torch_side() -> nn.Module:
    torch.manual_seed(27)
    return Reader()


def copied(order: tuple[int, ...]) -> keras.Model:
    rnn = torch_side().cell
    cell = keras.layers.LSTM(5, return_sequences=True, name="cell")
    model = keras.Sequential([keras.Input((6, 4)), cell])

    def gates(tensor: torch.Tensor) -> np.ndarray:
        blocks = np.split(tensor.detach().numpy(), 4)
        return np.concatenate([blocks[i] for i in order])

    bias = gates(rnn.bias_ih_l0 + rnn.bias_hh_l0)
    cell.set_weights([gates(rnn.weight_ih_l0).T, gates(rnn.weight_hh_l0).T, bias])
    return model


def tf_buggy() -> keras.Model:
    return copied((0, 2, 1, 3))


def tf_fixed() -> keras.Model:
    return copied((0, 1, 2, 3))


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(3, 6, 4)).astype(np.float32)}
