"""A transposed convolution whose output is cropped at the other end."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "conv_transpose_output_padding"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "A transposed convolution whose output is cropped at the other end"
SYMPTOM = "Upsampled images agree after moving one of them by a pixel"
WHY = "padding=1, output_padding=1 crops one row at the start; 'same' crops one at the end"
CAUSE = "output-padding"
FIX = (
    'keras.layers.Conv2DTranspose(..., padding="valid"), then keras.layers.Cropping2D(((1, '
    "0), (1, 0)))"
)
PLACE = "up"
CHANNELS_LAST = True


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("up", nn.ConvTranspose2d(3, 2, 3, stride=2, padding=1, output_padding=1))
    return net


def tf_buggy() -> keras.Model:
    x = inputs = keras.Input((4, 5, 3))
    x = keras.layers.Conv2DTranspose(2, 3, strides=2, padding="same", name="up")(x)
    return keras.Model(inputs, x)


def tf_fixed() -> keras.Model:
    x = inputs = keras.Input((4, 5, 3))
    x = keras.layers.Conv2DTranspose(2, 3, strides=2, padding="valid", name="up")(x)
    return keras.Model(inputs, keras.layers.Cropping2D(((1, 0), (1, 0)))(x))


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(size=(2, 3, 4, 5)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 3, 1)}}
