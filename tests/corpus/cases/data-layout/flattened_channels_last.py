"""Feature maps flattened with their channels last."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "flattened_channels_last"
KIND = "data-layout"
SUBJECT = "module"
TITLE = "Feature maps flattened with their channels last"
SYMPTOM = "The head's copied weights belong to other elements"
WHY = "torch flattens channel by channel"
CAUSE = "flatten-order|element-order"
FIX = "keras.layers.Permute((3, 1, 2)) before the flatten"
PLACE = "out/input|out"
CHANNELS_LAST = True


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 5, 3, 2)
        self.out = nn.Linear(5 * 3 * 4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.relu(self.conv(x)).flatten(1))


def torch_side() -> nn.Module:
    return Net()


def model(permuted: bool) -> keras.Model:
    image = keras.Input((7, 9, 3))
    x = keras.layers.Conv2D(5, 3, 2, activation="relu")(image)
    if permuted:
        x = keras.layers.Permute((3, 1, 2))(x)
    return keras.Model(image, keras.layers.Dense(4)(keras.layers.Flatten()(x)))


def tf_buggy() -> keras.Model:
    return model(False)


def tf_fixed() -> keras.Model:
    return model(True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, 3, 7, 9)).astype(np.float32)
    return {"torch": [x], "tf": [np.moveaxis(x, 1, -1)]}
