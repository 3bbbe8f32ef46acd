"""Dropout on one side only, in evaluation."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "dropout_on_one_side"
KIND = "control"
SUBJECT = "module"
TITLE = "Dropout on one side only, in evaluation"
WHY = "It does nothing when not training, so its absence is no difference"


def torch_side() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Dropout(0.4), nn.Linear(12, 2)).eval()


def tf_fixed() -> keras.Model:
    return keras.Sequential(
        [keras.Input((5,)), keras.layers.Dense(12, activation="relu"), keras.layers.Dense(2)]
    )


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(4, 5)).astype(np.float32)}
