"""Positions counted from one."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "positions_from_one"
KIND = "attention"
SUBJECT = "module"
TITLE = "Positions counted from one"
SYMPTOM = "Every token gets its neighbour's position"
WHY = "torch counts from zero"
CAUSE = "off-by-one"
FIX = "tf.range(length)"
PLACE = "block/input|place"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(9, 6)
        self.place = nn.Embedding(8, 6)
        self.block = nn.Linear(6, 3)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.block(self.embed(tokens) + self.place(torch.arange(tokens.shape[1])))


def torch_side() -> nn.Module:
    return Net()


class KerasNet(keras.Model):
    def __init__(self, start: int) -> None:
        super().__init__()
        self.embed = keras.layers.Embedding(9, 6)
        self.place = keras.layers.Embedding(8, 6)
        self.block = keras.layers.Dense(3)
        self.start = start

    def call(self, tokens: tf.Tensor) -> tf.Tensor:
        places = tf.range(self.start, tokens.shape[1] + self.start)
        return self.block(self.embed(tokens) + self.place(places))


def tf_buggy() -> keras.Model:
    return KerasNet(1)


def tf_fixed() -> keras.Model:
    return KerasNet(0)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"tokens": rng.integers(0, 9, size=(3, 5))}
