"""Softmax over time instead of over the actions."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "softmax_axis"
KIND = "activation"
SUBJECT = "module"
TITLE = "Softmax over time instead of over the actions"
SYMPTOM = "Rows do not sum to 1, columns do"
WHY = "torch's dim=1 was copied as the axis of an array of another order"
CAUSE = "softmax-axis"
FIX = "tf.nn.softmax(x, axis=-1)"
PLACE = "output"


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.logits = nn.Linear(6, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.logits(x), dim=2)


def torch_side() -> nn.Module:
    return Head()


class KerasHead(keras.Model):
    def __init__(self, axis: int) -> None:
        super().__init__()
        self.logits = keras.layers.Dense(4)
        self.axis = axis

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.softmax(self.logits(x), axis=self.axis)


def tf_buggy() -> keras.Model:
    return KerasHead(1)


def tf_fixed() -> keras.Model:
    return KerasHead(-1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(3, 5, 6)).astype(np.float32)}
