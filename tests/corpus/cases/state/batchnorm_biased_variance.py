"""BatchNorm's running variance without Bessel's correction."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from torch import nn

ID = "batchnorm_biased_variance"
KIND = "state"
SUBJECT = "module"
TITLE = "BatchNorm's running variance without Bessel's correction"
SYMPTOM = "Training agrees, evaluation is off by a factor n / (n - 1) in the variance"
WHY = "torch keeps the unbiased variance, keras.layers.BatchNormalization the biased one"
CAUSE = "variance-bias"
FIX = "Multiply the batch variance by n / (n - 1) before averaging it"
PLACE = "state/norm/moving_variance"
OPTIONS = {"training": True}


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("norm", nn.BatchNorm1d(5, momentum=0.25))
    net.add_module("out", nn.Linear(5, 3))
    return net


class BesselNorm(keras.layers.BatchNormalization):
    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        kept = self.momentum * tf.identity(self.moving_variance)
        y = super().call(x, training=training)
        if training:
            new = tf.convert_to_tensor(self.moving_variance) - kept
            self.moving_variance.assign(kept + new * (x.shape[0] / (x.shape[0] - 1)))
        return y


def network(norm: keras.layers.Layer) -> keras.Model:
    return keras.Sequential(
        [keras.Input((5,), batch_size=7), norm, keras.layers.Dense(3, name="out")]
    )


def tf_buggy() -> keras.Model:
    norm = keras.layers.BatchNormalization(momentum=0.75, epsilon=1e-5, name="norm")
    return network(norm)


def tf_fixed() -> keras.Model:
    return network(BesselNorm(momentum=0.75, epsilon=1e-5, name="norm"))


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(-1.0, 3.0, (7, 5)).astype(np.float32)}
