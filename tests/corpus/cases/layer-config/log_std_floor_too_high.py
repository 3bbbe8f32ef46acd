"""Another lower bound of the log standard deviation."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "log_std_floor_too_high"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "Another lower bound of the log standard deviation"
SYMPTOM = "The policy cannot become as sure as in torch"
WHY = "The port clips at -5, torch at -20"
CAUSE = "clip-extra|constant|constant-differs|boundary"
FIX = "tf.clip_by_value(log_std, -20.0, 2.0)"
PLACE = "output/1|log_std"


class Actor(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(4, 16)
        self.mean = nn.Linear(16, 2)
        self.log_std = nn.Linear(16, 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = torch.relu(self.body(x))
        return self.mean(h), self.log_std(h).clamp(-20, 2)


def torch_side() -> nn.Module:
    return Actor()


class KerasActor(keras.Model):
    def __init__(self, floor: float) -> None:
        super().__init__()
        self.body = keras.layers.Dense(16, activation="relu")
        self.mean = keras.layers.Dense(2)
        self.log_std = keras.layers.Dense(2)
        self.floor = floor

    def call(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        h = self.body(x)
        return self.mean(h), tf.clip_by_value(self.log_std(h), self.floor, 2.0)


def tf_buggy() -> keras.Model:
    return KerasActor(-5.0)


def tf_fixed() -> keras.Model:
    return KerasActor(-20.0)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(scale=40, size=(20, 4)).astype(np.float32)}
