"""A batch of one."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "one_row"
KIND = "control"
SUBJECT = "module"
TITLE = "A batch of one"
WHY = "Nothing in evaluation depends on the other rows"


def torch_side() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 2)).eval()


def tf_fixed() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(6),
            keras.layers.BatchNormalization(epsilon=1e-5),
            keras.layers.Activation("tanh"),
            keras.layers.Dense(2),
        ]
    )


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(1, 3)).astype(np.float32)}
