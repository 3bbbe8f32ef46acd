"""A frozen BatchNorm that switches to inference."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from torch import nn

ID = "frozen_means_inference"
KIND = "state"
SUBJECT = "module"
TITLE = "A frozen BatchNorm that switches to inference"
SYMPTOM = "Fine-tuning gives other losses from the first batch on"
WHY = (
    "requires_grad=False leaves torch's batch statistics on, trainable=False makes Keras use "
    "the moving ones"
)
CAUSE = "frozen-norm"
FIX = "Leave trainable at True and keep gamma and beta out of the optimizer"
PLACE = "norm"
OPTIONS = {"training": True}


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("norm", nn.BatchNorm1d(6, momentum=0.125))
    net.add_module("out", nn.Linear(6, 2))
    net.norm.requires_grad_(False)
    return net


class Norm(keras.layers.BatchNormalization):
    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        kept = self.momentum * tf.identity(self.moving_variance)
        y = super().call(x, training=training)
        if training and self.trainable:
            new = tf.convert_to_tensor(self.moving_variance) - kept
            self.moving_variance.assign(kept + new * (x.shape[0] / (x.shape[0] - 1)))
        return y


def network(frozen: bool) -> keras.Model:
    norm = Norm(momentum=0.875, epsilon=1e-5, name="norm")
    norm.trainable = not frozen
    return keras.Sequential(
        [keras.Input((6,), batch_size=8), norm, keras.layers.Dense(2, name="out")]
    )


def tf_buggy() -> keras.Model:
    return network(True)


def tf_fixed() -> keras.Model:
    return network(False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(2.0, 1.5, (8, 6)).astype(np.float32)}
