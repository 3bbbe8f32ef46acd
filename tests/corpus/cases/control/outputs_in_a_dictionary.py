"""Outputs in a dictionary."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "outputs_in_a_dictionary"
KIND = "control"
SUBJECT = "module"
TITLE = "Outputs in a dictionary"
WHY = "Keras returns dictionaries with sorted keys; the entries are paired by name"


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(5, 11)
        self.value = nn.Linear(11, 1)
        self.policy_logits = nn.Linear(11, 4)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        x = torch.tanh(self.body(x))
        return {"value": self.value(x), "policy_logits": self.policy_logits(x)}


def torch_side() -> nn.Module:
    return Heads()


class KerasHeads(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.body = keras.layers.Dense(11, activation="tanh")
        self.value = keras.layers.Dense(1)
        self.policy_logits = keras.layers.Dense(4)

    def call(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        x = self.body(x)
        return {"value": self.value(x), "policy_logits": self.policy_logits(x)}


def tf_fixed() -> keras.Model:
    return KerasHeads()


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(6, 5)).astype(np.float32)}
