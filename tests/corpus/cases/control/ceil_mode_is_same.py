"""Max pooling with ceil_mode against 'same'."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "ceil_mode_is_same"
KIND = "control"
SUBJECT = "module"
TITLE = "Max pooling with ceil_mode against 'same'"
WHY = (
    "For an odd size and windows that do not overlap, both append one incomplete window at the end"
)
CHANNELS_LAST = True


def torch_side() -> nn.Module:
    return nn.Sequential(nn.Conv2d(2, 3, 3), nn.MaxPool2d(2, ceil_mode=True))


def tf_fixed() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((9, 7, 2)),
            keras.layers.Conv2D(3, 3),
            keras.layers.MaxPooling2D(2, padding="same"),
        ]
    )


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(size=(2, 2, 9, 7)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 3, 1)}}
