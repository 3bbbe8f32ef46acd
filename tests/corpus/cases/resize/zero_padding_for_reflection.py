"""Zeros at the border where torch reflects."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F
from torch import nn

ID = "zero_padding_for_reflection"
KIND = "resize"
SUBJECT = "module"
TITLE = "Zeros at the border where torch reflects"
SYMPTOM = "Only pixels near the border differ"
WHY = "ReflectionPad2d was replaced by ZeroPadding2D"
CAUSE = "padding-mode|padding|option"
FIX = 'tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")'
PLACE = "pad|conv/input"
CHANNELS_LAST = True


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(F.pad(x, (1, 1, 1, 1), mode="reflect"))


def torch_side() -> nn.Module:
    return Net()


class KerasNet(keras.Model):
    def __init__(self, mode: str) -> None:
        super().__init__()
        self.conv = keras.layers.Conv2D(3, 3)
        self.mode = mode

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.conv(tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], mode=self.mode))


def tf_buggy() -> keras.Model:
    return KerasNet("CONSTANT")


def tf_fixed() -> keras.Model:
    return KerasNet("REFLECT")


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, 2, 6, 5)).astype(np.float32)
    return {"torch": [x], "tf": [np.moveaxis(x, 1, -1)]}
