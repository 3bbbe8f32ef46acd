"""Bilinear upsampling with and without aligned corners."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from torch import nn

ID = "bilinear_corners"
KIND = "resize"
SUBJECT = "module"
TITLE = "Bilinear upsampling with and without aligned corners"
SYMPTOM = "The upscaled image is squeezed towards the centre, by less than a pixel"
WHY = "align_corners=True maps corner to corner, Keras's UpSampling2D uses half-pixel centres"
CAUSE = "resize-convention"
FIX = (
    'nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False) on the torch side, or '
    "resize by hand in Keras"
)
PLACE = "up"
CHANNELS_LAST = True


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("up", nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True))
    net.add_module("conv", nn.Conv2d(2, 3, 1))
    return net


class AlignedUp(keras.layers.Layer):
    """Bilinear upsampling by two, corner to corner: a product with one matrix per axis."""

    def call(self, x: tf.Tensor) -> tf.Tensor:
        for axis in (1, 2):
            size = x.shape[axis]
            places = np.linspace(0.0, size - 1.0, 2 * size)
            matrix = np.maximum(0.0, 1.0 - np.abs(places[:, None] - np.arange(size)))
            moved = tf.tensordot(tf.constant(matrix, x.dtype), x, [[1], [axis]])
            x = tf.transpose(moved, [1, 0, 2, 3] if axis == 1 else [1, 2, 0, 3])
        return x


def network(up: keras.layers.Layer) -> keras.Model:
    return keras.Sequential([keras.Input((3, 4, 2)), up, keras.layers.Conv2D(3, 1, name="conv")])


def tf_buggy() -> keras.Model:
    return network(keras.layers.UpSampling2D(2, interpolation="bilinear", name="up"))


def tf_fixed() -> keras.Model:
    return network(AlignedUp(name="up"))


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).uniform(size=(2, 2, 3, 4)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 3, 1)}}
