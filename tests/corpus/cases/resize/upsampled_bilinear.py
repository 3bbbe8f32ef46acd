"""Upsampling that interpolates where torch repeats."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "upsampled_bilinear"
KIND = "resize"
SUBJECT = "module"
TITLE = "Upsampling that interpolates where torch repeats"
SYMPTOM = "Decoded images are blurred"
WHY = "UpSampling2D has another interpolation"
CAUSE = "resize-convention|layer-setting"
FIX = 'keras.layers.UpSampling2D(2, interpolation="nearest")'
PLACE = "up"
CHANNELS_LAST = True


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.conv = nn.Conv2d(2, 3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(self.up(x))


def torch_side() -> nn.Module:
    return Net()


def model(way: str) -> keras.Model:
    return keras.Sequential(
        [
            keras.layers.Input((4, 5, 2)),
            keras.layers.UpSampling2D(2, interpolation=way),
            keras.layers.Conv2D(3, 3),
        ]
    )


def tf_buggy() -> keras.Model:
    return model("bilinear")


def tf_fixed() -> keras.Model:
    return model("nearest")


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, 2, 4, 5)).astype(np.float32)
    return {"torch": [x], "tf": [np.moveaxis(x, 1, -1)]}
