"""A mixed-precision policy left on one layer."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "mixed_precision_left_on"
KIND = "dtype"
SUBJECT = "module"
TITLE = "A mixed-precision policy left on one layer"
SYMPTOM = "Everything behind that layer has two or three digits"
WHY = 'dtype="mixed_bfloat16" computes with 8 bits of mantissa although the weights are float32'
CAUSE = "low-precision|half-precision"
FIX = "keras.layers.Dense(10), without a dtype policy"
PLACE = "mid"
FLOAT64 = False


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("first", nn.Linear(4, 8))
    net.add_module("mid", nn.Linear(8, 10))
    net.add_module("last", nn.Linear(10, 2))
    return net


def network(policy: str) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(8, name="first"),
            keras.layers.Dense(10, name="mid", dtype=policy),
            keras.layers.Dense(2, name="last"),
        ]
    )


def tf_buggy() -> keras.Model:
    return network("mixed_bfloat16")


def tf_fixed() -> keras.Model:
    return network("float32")


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(6, 4)).astype(np.float32)}
