"""BatchNorm's momentum copied although it means the complement."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from torch import nn

ID = "batchnorm_momentum"
KIND = "state"
SUBJECT = "module"
TITLE = "BatchNorm's momentum copied although it means the complement"
SYMPTOM = "Training looks the same, evaluation is wildly different after a few steps"
WHY = "torch's 0.1 is the weight of the new batch, Keras's momentum that of the old average"
CAUSE = "norm-momentum"
FIX = "keras.layers.BatchNormalization(momentum=0.9)"
PLACE = "state/norm/moving_mean"
OPTIONS = {"training": True}


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("fc", nn.Linear(4, 6))
    net.add_module("norm", nn.BatchNorm1d(6, momentum=0.1))
    return net


class UnbiasedNorm(keras.layers.BatchNormalization):
    """Keeps the unbiased variance, as torch does."""

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        kept = self.momentum * tf.identity(self.moving_variance)
        y = super().call(x, training=training)
        if training:
            new = tf.convert_to_tensor(self.moving_variance) - kept
            self.moving_variance.assign(kept + new * (x.shape[0] / (x.shape[0] - 1)))
        return y


def network(momentum: float) -> keras.Model:
    fc = keras.layers.Dense(6, name="fc")
    norm = UnbiasedNorm(momentum=momentum, epsilon=1e-5, name="norm")
    return keras.Sequential([keras.Input((4,), batch_size=9), fc, norm])


def tf_buggy() -> keras.Model:
    return network(0.1)


def tf_fixed() -> keras.Model:
    return network(0.9)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(1.0, 2.0, (9, 4)).astype(np.float32)}
