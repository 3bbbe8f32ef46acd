"""Running statistics that follow the last batch."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "statistics_move_too_fast"
KIND = "state"
SUBJECT = "module"
TITLE = "Running statistics that follow the last batch"
SYMPTOM = "Evaluation jumps from batch to batch"
WHY = "momentum=0.1 weighs the old average in Keras"
CAUSE = "norm-momentum|momentum-value|complement"
FIX = "keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5)"
PLACE = "state/norm/moving_mean|state/norm|norm"


OPTIONS = {"training": True}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 6)
        self.norm = nn.BatchNorm1d(6, momentum=0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.inner(x))


def torch_side() -> nn.Module:
    return Net()


class Unbiased(keras.layers.BatchNormalization):
    """Keeps the unbiased variance, as torch does."""

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        before = tf.convert_to_tensor(self.moving_variance)
        out = super().call(x, training=training)
        if training:
            n = x.shape[0] or 1
            kept = self.momentum * before
            self.moving_variance.assign(kept + (self.moving_variance - kept) * n / max(n - 1, 1))
        return out


def model(momentum: float) -> keras.Model:
    return keras.Sequential(
        [keras.layers.Input((4,)), keras.layers.Dense(6), Unbiased(momentum=momentum, epsilon=1e-5)]
    )


def tf_buggy() -> keras.Model:
    return model(0.1)


def tf_fixed() -> keras.Model:
    return model(0.9)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(16, 4)).astype(np.float32)}
