"""Activations fused into Keras layers."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "activations_fused"
KIND = "control"
SUBJECT = "module"
TITLE = "Activations fused into Keras layers"
WHY = "Dense(activation=...) is one layer on one side and two on the other"


def torch_side() -> nn.Module:
    hidden = [nn.Linear(3, 8), nn.SiLU(), nn.Linear(8, 7), nn.Softplus()]
    return nn.Sequential(*hidden, nn.Linear(7, 1))


def tf_fixed() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(8, activation="silu"),
            keras.layers.Dense(7, activation="softplus"),
            keras.layers.Dense(1),
        ]
    )


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(6, 3)).astype(np.float32)}
