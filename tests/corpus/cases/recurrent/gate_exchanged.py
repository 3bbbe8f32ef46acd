"""The update gate keeps what it should replace."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "gate_exchanged"
KIND = "recurrent"
SUBJECT = "module"
TITLE = "The update gate keeps what it should replace"
SYMPTOM = "The state forgets at once, or never"
WHY = "The gate weighs the old state in torch, the new one in the port"
CAUSE = "complement|operand-order|layer-setting"
FIX = "gate * h + (1 - gate) * new"
PLACE = "out/input"


class Cell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(7, 4)
        self.new = nn.Linear(7, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        both = torch.cat([x, h], -1)
        gate = torch.sigmoid(self.gate(both))
        return self.out(gate * h + (1 - gate) * torch.tanh(self.new(both)))


def torch_side() -> nn.Module:
    return Cell()


class KerasCell(keras.Model):
    def __init__(self, keeps: bool) -> None:
        super().__init__()
        self.gate = keras.layers.Dense(4, activation="sigmoid")
        self.new = keras.layers.Dense(4, activation="tanh")
        self.out = keras.layers.Dense(2)
        self.keeps = keeps

    def call(self, x: tf.Tensor, h: tf.Tensor) -> tf.Tensor:
        both = tf.concat([x, h], axis=-1)
        gate, new = self.gate(both), self.new(both)
        if self.keeps:
            return self.out(gate * h + (1 - gate) * new)
        return self.out((1 - gate) * h + gate * new)


def tf_buggy() -> keras.Model:
    return KerasCell(keeps=False)


def tf_fixed() -> keras.Model:
    return KerasCell(keeps=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "x": rng.normal(size=(5, 3)).astype(np.float32),
        "h": rng.uniform(-1, 1, size=(5, 4)).astype(np.float32),
    }
