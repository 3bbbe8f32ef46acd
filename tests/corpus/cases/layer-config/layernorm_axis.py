"""LayerNorm over the last axis instead of the whole step."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "layernorm_axis"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "LayerNorm over the last axis instead of the whole step"
SYMPTOM = "Right shape, no weights to compare, statistics of the wrong group of numbers"
WHY = (
    "nn.LayerNorm takes the shape to normalise, keras.layers.LayerNormalization the axes, and"
    " its default is the last one"
)
CAUSE = "norm-axis"
FIX = "keras.layers.LayerNormalization(axis=[1, 2], epsilon=1e-5, center=False, scale=False)"
PLACE = "norm"


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("mix", nn.Linear(5, 6))
    net.add_module("norm", nn.LayerNorm((4, 6), elementwise_affine=False))
    return net


def network(axis: int | list[int]) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((4, 5)),
            keras.layers.Dense(6, name="mix"),
            keras.layers.LayerNormalization(
                axis=axis, epsilon=1e-5, center=False, scale=False, name="norm"
            ),
        ]
    )


def tf_buggy() -> keras.Model:
    return network(-1)


def tf_fixed() -> keras.Model:
    return network([1, 2])


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(7, 4, 5)).astype(np.float32)}
