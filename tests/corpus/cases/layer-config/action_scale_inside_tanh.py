"""The action bound is applied before the tanh instead of after it."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "action_scale_inside_tanh"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "The action bound is applied before the tanh instead of after it"
SYMPTOM = "Actions never exceed 1 in an environment that allows 2.5"
WHY = "scale * tanh(x) became tanh(scale * x)"
CAUSE = "scale-misplaced"
FIX = "return self.limit * tf.tanh(self.out(x))"
PLACE = "output"


LIMIT = 2.5


class Policy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(3, 10)
        self.out = nn.Linear(10, 2)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return LIMIT * torch.tanh(self.out(torch.relu(self.hidden(observation))))


def torch_side() -> nn.Module:
    return Policy()


class KerasPolicy(keras.Model):
    def __init__(self, inside: bool) -> None:
        super().__init__()
        self.hidden = keras.layers.Dense(10, activation="relu")
        self.out = keras.layers.Dense(2)
        self.inside = inside

    def call(self, observation: tf.Tensor) -> tf.Tensor:
        x = self.out(self.hidden(observation))
        return tf.tanh(LIMIT * x) if self.inside else LIMIT * tf.tanh(x)


def tf_buggy() -> keras.Model:
    return KerasPolicy(inside=True)


def tf_fixed() -> keras.Model:
    return KerasPolicy(inside=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"observation": np.random.default_rng(seed).normal(size=(6, 3)).astype(np.float32)}
