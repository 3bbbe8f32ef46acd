"""Embeddings not multiplied by the root of their width."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "embedding_not_scaled"
KIND = "attention"
SUBJECT = "module"
TITLE = "Embeddings not multiplied by the root of their width"
SYMPTOM = "Positions drown the tokens"
WHY = "torch scales the table's rows before positions are added"
CAUSE = "factor|constant-factor|constant-differs|missing-factor"
FIX = "self.embed(tokens) * 8**0.5"
PLACE = "block/input"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.block = nn.Linear(8, 3)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.block(self.embed(tokens) * 8**0.5)


def torch_side() -> nn.Module:
    return Net()


class KerasNet(keras.Model):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.embed = keras.layers.Embedding(11, 8)
        self.block = keras.layers.Dense(3)
        self.factor = factor

    def call(self, tokens: tf.Tensor) -> tf.Tensor:
        return self.block(self.embed(tokens) * self.factor)


def tf_buggy() -> keras.Model:
    return KerasNet(1.0)


def tf_fixed() -> keras.Model:
    return KerasNet(8**0.5)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"tokens": rng.integers(0, 11, size=(3, 5))}
