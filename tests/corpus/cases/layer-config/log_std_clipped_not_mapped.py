"""A log deviation clipped where torch maps it by tanh."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "log_std_clipped_not_mapped"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "A log deviation clipped where torch maps it by tanh"
SYMPTOM = "Exploration is far smaller at the start: 0 stays 0 in place of the middle"
WHY = "Two ways of bounding the log of a deviation are in use: a clip, and a mapped tanh"
CAUSE = "other-function|other-operation|clipped-value|other-computation"
FIX = "low + (tf.tanh(x) + 1) * (high - low) / 2"
PLACE = "output/1"


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mean, self.spread = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.mean(x), -8.0 + 0.5 * (1.0 + 8.0) * (torch.tanh(self.spread(x)) + 1.0)


class KerasHead(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.mean, self.spread = keras.layers.Dense(3), keras.layers.Dense(3)

    def call(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return self.mean(x), self.bounded(self.spread(x))

    def bounded(self, x: tf.Tensor) -> tf.Tensor:
        return -8.0 + 0.5 * (1.0 + 8.0) * (tf.tanh(x) + 1.0)


class Clipped(KerasHead):
    def bounded(self, x: tf.Tensor) -> tf.Tensor:
        return tf.clip_by_value(x, -8.0, 1.0)


def torch_side() -> nn.Module:
    return Head()


def tf_buggy() -> keras.Model:
    return Clipped()


def tf_fixed() -> keras.Model:
    return KerasHead()


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(6, 4)).astype(np.float32)}
