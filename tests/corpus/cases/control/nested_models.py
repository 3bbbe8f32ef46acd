"""A model inside a model."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "nested_models"
KIND = "control"
SUBJECT = "module"
TITLE = "A model inside a model"
WHY = (
    "A Sequential in a subclass on one side, a functional model in a functional model on the "
    "other; names differ, the order of execution does not"
)


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 10), nn.Tanh(), nn.Linear(10, 6))
        self.head = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.trunk(x)))


def torch_side() -> nn.Module:
    return Outer()


def tf_fixed() -> keras.Model:
    x = inner_inputs = keras.Input((4,))
    x = keras.layers.Dense(10, activation="tanh")(x)
    inner = keras.Model(inner_inputs, keras.layers.Dense(6)(x), name="body")
    x = outer_inputs = keras.Input((4,))
    x = keras.layers.Dense(3, name="top")(keras.ops.relu(inner(x)))
    return keras.Model(outer_inputs, x)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(7, 4)).astype(np.float32)}
