"""Normalised after the sum in place of before the branch."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "norm_after_the_sum"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "Normalised after the sum in place of before the branch"
SYMPTOM = "A transformer block with copied weights gives unrelated values"
WHY = "Pre-norm adds the branch to the raw input"
CAUSE = "operation-order|call-order|layer-order"
FIX = "x + self.branch(self.norm(x))"
PLACE = "norm/input|norm"


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(6)
        self.branch = nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.relu(self.branch(self.norm(x)))


def torch_side() -> nn.Module:
    return Block()


class KerasBlock(keras.Model):
    def __init__(self, before: bool) -> None:
        super().__init__()
        self.norm = keras.layers.LayerNormalization(epsilon=1e-5)
        self.branch = keras.layers.Dense(6, activation="relu")
        self.before = before

    def call(self, x: tf.Tensor) -> tf.Tensor:
        if self.before:
            return x + self.branch(self.norm(x))
        return self.norm(x + self.branch(x))


def tf_buggy() -> keras.Model:
    return KerasBlock(before=False)


def tf_fixed() -> keras.Model:
    return KerasBlock(before=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(5, 6)).astype(np.float32)}
