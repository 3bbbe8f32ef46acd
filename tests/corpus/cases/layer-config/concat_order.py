"""Observation and action concatenated the other way round."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "concat_order"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "Observation and action concatenated the other way round"
SYMPTOM = "A critic with copied weights gives unrelated values; trained from scratch it works"
WHY = "The first layer's columns belong to observation, then action"
CAUSE = "concat-order"
FIX = "tf.concat([observation, action], axis=-1)"
PLACE = "q1/input"


class Critic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q1 = nn.Linear(5, 13)
        self.q2 = nn.Linear(13, 1)

    def forward(self, observation: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        return self.q2(torch.relu(self.q1(torch.cat([observation, action], -1)))).squeeze(-1)


def torch_side() -> nn.Module:
    return Critic()


class KerasCritic(keras.Model):
    def __init__(self, action_first: bool) -> None:
        super().__init__()
        self.q1 = keras.layers.Dense(13, activation="relu")
        self.q2 = keras.layers.Dense(1)
        self.action_first = action_first

    def call(self, observation: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
        parts = [action, observation] if self.action_first else [observation, action]
        return tf.squeeze(self.q2(self.q1(tf.concat(parts, axis=-1))), -1)


def tf_buggy() -> keras.Model:
    return KerasCritic(action_first=True)


def tf_fixed() -> keras.Model:
    return KerasCritic(action_first=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "observation": rng.normal(size=(7, 3)).astype(np.float32),
        "action": rng.uniform(-1, 1, size=(7, 2)).astype(np.float32),
    }
