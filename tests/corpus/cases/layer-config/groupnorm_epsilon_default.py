"""Another epsilon of a group normalisation."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "groupnorm_epsilon_default"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "Another epsilon of a group normalisation"
SYMPTOM = "Groups with little spread are scaled down"
WHY = "Keras has 1e-3 as its default, torch 1e-5"
CAUSE = "norm-epsilon|epsilon-value"
FIX = "keras.layers.GroupNormalization(2, epsilon=1e-5)"
PLACE = "norm"
CHANNELS_LAST = True


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3)
        self.norm = nn.GroupNorm(2, 4)
        self.last = nn.Conv2d(4, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.relu(self.norm(self.conv(x))))


def torch_side() -> nn.Module:
    return Net()


def model(**options: float) -> keras.Model:
    return keras.Sequential(
        [
            keras.layers.Input((5, 6, 2)),
            keras.layers.Conv2D(4, 3),
            keras.layers.GroupNormalization(2, **options),
            keras.layers.ReLU(),
            keras.layers.Conv2D(2, 1),
        ]
    )


def tf_buggy() -> keras.Model:
    return model()


def tf_fixed() -> keras.Model:
    return model(epsilon=1e-5)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(scale=0.1, size=(2, 2, 5, 6)).astype(np.float32)
    return {"torch": [x], "tf": [np.moveaxis(x, 1, -1)]}
