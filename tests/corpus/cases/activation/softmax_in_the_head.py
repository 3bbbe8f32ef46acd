"""Probabilities where torch returns logits."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "softmax_in_the_head"
KIND = "activation"
SUBJECT = "module"
TITLE = "Probabilities where torch returns logits"
SYMPTOM = "The loss applies softmax a second time; gradients vanish"
WHY = "The last layer of the port has an activation"
CAUSE = "activation-extra|logits-probabilities|other-activation"
FIX = "keras.layers.Dense(4)"
PLACE = "2|output"


def torch_side() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 4))


def model(head: str | None) -> keras.Model:
    return keras.Sequential(
        [
            keras.layers.Input((5,)),
            keras.layers.Dense(7, activation="tanh"),
            keras.layers.Dense(4, activation=head),
        ]
    )


def tf_buggy() -> keras.Model:
    return model("softmax")


def tf_fixed() -> keras.Model:
    return model(None)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(6, 5)).astype(np.float32)}
