"""Three faults along one encoder."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "encoder_three_faults"
KIND = "stacked"
SUBJECT = "module"
TITLE = "Three faults along one encoder"
SYMPTOM = "Every layer after the first block is off, more with each block"
WHY = (
    "Concatenated the wrong way round, an ELU without its alpha, and a normalisation with the"
    " wrong epsilon"
)
CAUSE = ("concat-order", "activation-slope", "norm-epsilon")
FIX = "tf.concat([state, goal], -1); keras.layers.ELU(0.25); LayerNormalization(epsilon=1e-5)"
PLACE = ("inner/input", "act", "norm")


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(7, 13)
        self.act = nn.ELU(alpha=0.25)
        self.outer = nn.Linear(13, 9)
        self.norm = nn.LayerNorm(9)
        self.out = nn.Linear(9, 4)

    def forward(self, state: torch.Tensor, goal: torch.Tensor) -> torch.Tensor:
        x = self.act(self.inner(torch.cat([state, goal], -1)))
        return self.out(self.norm(self.outer(x)))


def torch_side() -> nn.Module:
    return Encoder()


class KerasEncoder(keras.Model):
    def __init__(self, goal_first: bool, alpha: float, epsilon: float) -> None:
        super().__init__()
        self.inner = keras.layers.Dense(13)
        self.act = keras.layers.ELU(alpha=alpha)
        self.outer = keras.layers.Dense(9)
        self.norm = keras.layers.LayerNormalization(epsilon=epsilon)
        self.out = keras.layers.Dense(4)
        self.goal_first = goal_first

    def call(self, state: tf.Tensor, goal: tf.Tensor) -> tf.Tensor:
        parts = [goal, state] if self.goal_first else [state, goal]
        x = self.act(self.inner(tf.concat(parts, -1)))
        return self.out(self.norm(self.outer(x)))


def tf_buggy() -> keras.Model:
    return KerasEncoder(goal_first=True, alpha=1.0, epsilon=1e-3)


def tf_fixed() -> keras.Model:
    return KerasEncoder(goal_first=False, alpha=0.25, epsilon=1e-5)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "state": rng.normal(size=(6, 5)).astype(np.float32),
        "goal": rng.normal(size=(6, 2)).astype(np.float32),
    }
