"""Activations that overwrite their input."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "activation_in_place"
KIND = "control"
SUBJECT = "module"
TITLE = "Activations that overwrite their input"
WHY = "nn.ReLU(inplace=True) changes the tensor that the layer before it returned"
FLOAT32_CONSTANTS = True


def torch_side() -> nn.Module:
    return nn.Sequential(
        nn.Linear(4, 9), nn.ReLU(inplace=True), nn.Linear(9, 6), nn.LeakyReLU(0.2, inplace=True)
    )


def tf_fixed() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(9),
            keras.layers.ReLU(),
            keras.layers.Dense(6),
            keras.layers.LeakyReLU(negative_slope=0.2),
        ]
    )


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(5, 4)).astype(np.float32)}
