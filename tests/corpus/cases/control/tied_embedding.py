"""An embedding whose table is also the output projection."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "tied_embedding"
KIND = "control"
SUBJECT = "module"
TITLE = "An embedding whose table is also the output projection"
WHY = "One tensor in two roles, on both sides; it must be counted and moved once"


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(8, 5)
        self.mix = nn.Linear(5, 5)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.mix(self.table(tokens))) @ self.table.weight.t()


def torch_side() -> nn.Module:
    return Tied()


class KerasTied(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.table = keras.layers.Embedding(8, 5)
        self.mix = keras.layers.Dense(5)

    def call(self, tokens: tf.Tensor) -> tf.Tensor:
        x = tf.tanh(self.mix(self.table(tokens)))
        return tf.matmul(x, tf.convert_to_tensor(self.table.embeddings), transpose_b=True)


def tf_fixed() -> keras.Model:
    return KerasTied()


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"tokens": np.random.default_rng(seed).integers(0, 8, size=(3, 4))}
