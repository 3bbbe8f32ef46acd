"""training=True left inside the model."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from torch import nn

ID = "training_flag_left_on"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "training=True left inside the model"
SYMPTOM = "The same row gives another answer in another batch"
WHY = "The Keras model normalises with the statistics of the batch whatever it is told"
CAUSE = "training-mode"
FIX = "self.norm(x, training=training)"
PLACE = "norm"


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("fc", nn.Linear(6, 8))
    net.add_module("norm", nn.BatchNorm1d(8))
    net.add_module("out", nn.Linear(8, 3))
    return net.eval()


class Net(keras.Model):
    def __init__(self, always: bool) -> None:
        super().__init__()
        self.fc = keras.layers.Dense(8)
        self.norm = keras.layers.BatchNormalization(epsilon=1e-5)
        self.out = keras.layers.Dense(3)
        self.always = always

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        return self.out(self.norm(self.fc(x), training=self.always or training))


def tf_buggy() -> keras.Model:
    return Net(always=True)


def tf_fixed() -> keras.Model:
    return Net(always=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(9, 6)).astype(np.float32)}
