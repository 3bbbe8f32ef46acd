"""Global max pooling where the model averages."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "global_max_for_average"
KIND = "pooling"
SUBJECT = "module"
TITLE = "Global max pooling where the model averages"
SYMPTOM = "Features are larger, and agree where a channel is constant"
WHY = "AdaptiveAvgPool2d(1) became GlobalMaxPooling2D"
CAUSE = "pooling-kind"
FIX = "keras.layers.GlobalAveragePooling2D()"
PLACE = "pool|out/input"
CHANNELS_LAST = True


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("conv", nn.Conv2d(2, 5, 3))
    net.add_module("pool", nn.AdaptiveAvgPool2d(1))
    net.add_module("flat", nn.Flatten())
    net.add_module("out", nn.Linear(5, 2))
    return net


def network(pool: keras.layers.Layer) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((6, 7, 2)),
            keras.layers.Conv2D(5, 3, name="conv"),
            pool,
            keras.layers.Dense(2, name="out"),
        ]
    )


def tf_buggy() -> keras.Model:
    return network(keras.layers.GlobalMaxPooling2D(name="pool"))


def tf_fixed() -> keras.Model:
    return network(keras.layers.GlobalAveragePooling2D(name="pool"))


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(size=(3, 2, 6, 7)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 3, 1)}}
