"""A transposed convolution cut on the other side."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "transposed_conv_offset"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "A transposed convolution cut on the other side"
SYMPTOM = "Decoded images are shifted by one pixel"
WHY = "same padding cuts one more pixel at the end than padding=1 with output_padding=1"
CAUSE = "output-padding|padding"
FIX = "padding valid, then cut one pixel at the front"
PLACE = "up"
CHANNELS_LAST = True


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(3, 2, 3, 2, padding=1, output_padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.up(x))


def torch_side() -> nn.Module:
    return Net()


class KerasNet(keras.Model):
    def __init__(self, cut_front: bool) -> None:
        super().__init__()
        self.up = keras.layers.Conv2DTranspose(2, 3, 2, padding="valid")
        self.cut_front = cut_front

    def call(self, x: tf.Tensor) -> tf.Tensor:
        y = self.up(x)
        y = y[:, 1:, 1:] if self.cut_front else y[:, :-1, :-1]
        return tf.sigmoid(y)


def tf_buggy() -> keras.Model:
    return KerasNet(cut_front=False)


def tf_fixed() -> keras.Model:
    return KerasNet(cut_front=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, 3, 4, 5)).astype(np.float32)
    return {"torch": [x], "tf": [np.moveaxis(x, 1, -1)]}
