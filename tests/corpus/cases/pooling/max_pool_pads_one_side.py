"""A strided max pool that pads at the end only."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from torch import nn

ID = "max_pool_pads_one_side"
KIND = "pooling"
SUBJECT = "module"
TITLE = "A strided max pool that pads at the end only"
SYMPTOM = "Feature maps are shifted by one pixel"
WHY = "torch pads one pixel on both sides; same padding with an even input pads at the end only"
CAUSE = "padding-asymmetry|padding"
FIX = "pad by one pixel with the lowest value on both sides, then pool with padding valid"
PLACE = "2"
CHANNELS_LAST = True


def torch_side() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Flatten(), nn.Linear(36, 3)
    )


class Net(keras.Model):
    def __init__(self, both_sides: bool) -> None:
        super().__init__()
        self.conv = keras.layers.Conv2D(4, 3, activation="relu")
        self.pool = keras.layers.MaxPooling2D(3, 2, padding="valid" if both_sides else "same")
        self.order = keras.layers.Permute((3, 1, 2))
        self.flat = keras.layers.Flatten()
        self.out = keras.layers.Dense(3)
        self.both_sides = both_sides

    def call(self, x: tf.Tensor) -> tf.Tensor:
        x = self.conv(x)
        padded = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]) if self.both_sides else x
        x = self.pool(padded)
        return self.out(self.flat(self.order(x)))


def tf_buggy() -> keras.Model:
    return Net(both_sides=False)


def tf_fixed() -> keras.Model:
    return Net(both_sides=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, 2, 8, 8)).astype(np.float32)
    return {"torch": [x], "tf": [np.moveaxis(x, 1, -1)]}
