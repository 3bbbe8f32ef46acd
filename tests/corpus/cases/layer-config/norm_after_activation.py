"""Activation and normalisation in the other order."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "norm_after_activation"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "Activation and normalisation in the other order"
SYMPTOM = "Same layers, same weights, other values from the first block on"
WHY = "One side normalises before the activation, the other after it"
CAUSE = "layer-order"
FIX = "x = tf.nn.relu(self.norm(self.fc(x)))"
PLACE = "norm"


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 9)
        self.norm = nn.LayerNorm(9)
        self.out = nn.Linear(9, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.relu(self.norm(self.fc(x))))


def torch_side() -> nn.Module:
    return Block()


class KerasBlock(keras.Model):
    def __init__(self, norm_first: bool) -> None:
        super().__init__()
        self.fc = keras.layers.Dense(9)
        self.norm = keras.layers.LayerNormalization(epsilon=1e-5)
        self.out = keras.layers.Dense(2)
        self.norm_first = norm_first

    def call(self, x: tf.Tensor) -> tf.Tensor:
        x = self.fc(x)
        x = tf.nn.relu(self.norm(x)) if self.norm_first else self.norm(tf.nn.relu(x))
        return self.out(x)


def tf_buggy() -> keras.Model:
    return KerasBlock(norm_first=False)


def tf_fixed() -> keras.Model:
    return KerasBlock(norm_first=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(5, 6)).astype(np.float32)}
