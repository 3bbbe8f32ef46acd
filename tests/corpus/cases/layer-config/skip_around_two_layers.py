"""A residual connection around two layers, forgotten in the later block."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "skip_around_two_layers"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "A residual connection around two layers, forgotten in the later block"
SYMPTOM = "Deep networks train badly; all weights agree"
WHY = "The first block adds its input and the second does not"
CAUSE = "residual-missing|missing-term"
FIX = "x + second(activation(first(x))) in every block"
PLACE = "out/input"


class Blocks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide1, self.narrow1 = nn.Linear(5, 11), nn.Linear(11, 5)
        self.wide2, self.narrow2 = nn.Linear(5, 13), nn.Linear(13, 5)
        self.out = nn.Linear(5, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.narrow1(torch.sigmoid(self.wide1(x)))
        x = x + self.narrow2(torch.sigmoid(self.wide2(x)))
        return self.out(x)


class KerasBlocks(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.wide1, self.narrow1 = keras.layers.Dense(11), keras.layers.Dense(5)
        self.wide2, self.narrow2 = keras.layers.Dense(13), keras.layers.Dense(5)
        self.out = keras.layers.Dense(3)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        x = x + self.narrow1(tf.sigmoid(self.wide1(x)))
        return self.out(self.joined(x, self.narrow2(tf.sigmoid(self.wide2(x)))))

    def joined(self, x: tf.Tensor, made: tf.Tensor) -> tf.Tensor:
        return x + made


class Forgotten(KerasBlocks):
    def joined(self, x: tf.Tensor, made: tf.Tensor) -> tf.Tensor:
        return made


def torch_side() -> nn.Module:
    return Blocks()


def tf_buggy() -> keras.Model:
    return Forgotten()


def tf_fixed() -> keras.Model:
    return KerasBlocks()


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(6, 5)).astype(np.float32)}
