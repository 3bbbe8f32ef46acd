"""Layers kept in lists."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "layers_in_lists"
KIND = "control"
SUBJECT = "module"
TITLE = "Layers kept in lists"
WHY = (
    "nn.ModuleList on one side, a plain Python list on the other; the layers are found by "
    "being called"
)


SIZES = (9, 8, 7)


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        pairs = zip((5, *SIZES), SIZES, strict=False)
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairs)
        self.out = nn.Linear(SIZES[-1], 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.hidden:
            x = torch.relu(layer(x))
        return self.out(x)


def torch_side() -> nn.Module:
    return Stack()


class KerasStack(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = [keras.layers.Dense(size) for size in SIZES]
        self.out = keras.layers.Dense(1)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        for layer in self.hidden:
            x = tf.nn.relu(layer(x))
        return self.out(x)


def tf_fixed() -> keras.Model:
    return KerasStack()


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(6, 5)).astype(np.float32)}
