"""ELU without its alpha."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "elu_alpha"
KIND = "activation"
SUBJECT = "module"
TITLE = "ELU without its alpha"
SYMPTOM = "Strongly negative inputs end at -1 instead of -0.4"
WHY = 'The string "elu" stands for alpha = 1'
CAUSE = "activation-slope"
FIX = "keras.layers.ELU(alpha=0.4)"
PLACE = "act"


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("fc", nn.Linear(3, 10))
    net.add_module("act", nn.ELU(alpha=0.4))
    net.add_module("out", nn.Linear(10, 2))
    return net


def tf_buggy() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(10, activation="elu", name="fc"),
            keras.layers.Dense(2, name="out"),
        ]
    )


def tf_fixed() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(10, name="fc"),
            keras.layers.ELU(alpha=0.4, name="act"),
            keras.layers.Dense(2, name="out"),
        ]
    )


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(scale=1.5, size=(6, 3)).astype(np.float32)}
