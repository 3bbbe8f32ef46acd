"""A shared body cut off from one of its heads."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "shared_head_detached"
KIND = "gradient"
SUBJECT = "module"
TITLE = "A shared body cut off from one of its heads"
SYMPTOM = "Outputs agree, the body's gradients are those of one head alone"
WHY = "stop_gradient in front of the value head, which is not in the torch model"
CAUSE = "stop-gradient-extra"
FIX = "self.value(x), without tf.stop_gradient"
PLACE = "grad/body"


class ActorCritic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(4, 12)
        self.policy = nn.Linear(12, 3)
        self.value = nn.Linear(12, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.tanh(self.body(x))
        return self.policy(x), self.value(x)


def torch_side() -> nn.Module:
    return ActorCritic()


class KerasActorCritic(keras.Model):
    def __init__(self, detached: bool) -> None:
        super().__init__()
        self.body = keras.layers.Dense(12, activation="tanh")
        self.policy = keras.layers.Dense(3)
        self.value = keras.layers.Dense(1)
        self.detached = detached

    def call(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        x = self.body(x)
        return self.policy(x), self.value(tf.stop_gradient(x) if self.detached else x)


def tf_buggy() -> keras.Model:
    return KerasActorCritic(detached=True)


def tf_fixed() -> keras.Model:
    return KerasActorCritic(detached=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(7, 4)).astype(np.float32)}
