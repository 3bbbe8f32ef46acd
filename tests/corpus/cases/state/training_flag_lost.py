"""The training flag lost on the way to a layer."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "training_flag_lost"
KIND = "state"
SUBJECT = "module"
TITLE = "The training flag lost on the way to a layer"
SYMPTOM = "Running statistics stay at 0 and 1 and the network trains badly"
WHY = "The inner block calls its layers without training=..., so BatchNorm runs in inference mode"
CAUSE = "training-mode"
FIX = "self.norm(self.fc(x), training=training)"
PLACE = "norm"
OPTIONS = {"training": True}


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 7)
        self.norm = nn.BatchNorm1d(7, momentum=0.125)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.fc(x)))


def torch_side() -> nn.Module:
    return Block()


class BatchNorm(keras.layers.BatchNormalization):
    """Keeps the unbiased variance, as torch does."""

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        kept = self.momentum * tf.identity(self.moving_variance)
        y = super().call(x, training=training)
        if training:
            new = tf.convert_to_tensor(self.moving_variance) - kept
            self.moving_variance.assign(kept + new * (x.shape[0] / (x.shape[0] - 1)))
        return y


class KerasBlock(keras.Model):
    def __init__(self, passed_on: bool) -> None:
        super().__init__()
        self.fc = keras.layers.Dense(7)
        self.norm = BatchNorm(momentum=0.875, epsilon=1e-5)
        self.passed_on = passed_on

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        return tf.nn.relu(self.norm(self.fc(x), training=training and self.passed_on))


def tf_buggy() -> keras.Model:
    return KerasBlock(passed_on=False)


def tf_fixed() -> keras.Model:
    return KerasBlock(passed_on=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(11, 3)).astype(np.float32)}
