"""A layer that keeps float32 constants in float64."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "float32_constants_inside"
KIND = "control"
SUBJECT = "module"
TITLE = "A layer that keeps float32 constants in float64"
WHY = (
    "Keras's exact GELU and its hard sigmoid hold constants in float32; in float64 they are "
    "1e-9 apart from torch's, which is no fault of the port"
)
FLOAT32_CONSTANTS = True


def torch_side() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 5), nn.Hardsigmoid())


def tf_fixed() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(8),
            keras.layers.Activation(lambda x: keras.activations.gelu(x, approximate=False)),
            keras.layers.Dense(5),
            keras.layers.Activation("hard_sigmoid"),
        ]
    )


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(6, 4)).astype(np.float32)}
