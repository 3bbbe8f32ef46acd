"""GroupNorm with another number of groups."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "groupnorm_groups"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "GroupNorm with another number of groups"
SYMPTOM = "Shapes and weights fit, the output is plausible, the values are unrelated"
WHY = (
    "The scale and shift have one entry per channel whatever the number of groups, so nothing"
    " complains"
)
CAUSE = "norm-groups"
FIX = "keras.layers.GroupNormalization(groups=4, epsilon=1e-5)"
PLACE = "norm"
CHANNELS_LAST = True


def torch_side() -> nn.Module:
    net = nn.Sequential()
    net.add_module("conv", nn.Conv2d(3, 8, 3, padding=1))
    net.add_module("norm", nn.GroupNorm(4, 8))
    return net


def network(groups: int) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((6, 5, 3)),
            keras.layers.Conv2D(8, 3, padding="same", name="conv"),
            keras.layers.GroupNormalization(groups, epsilon=1e-5, name="norm"),
        ]
    )


def tf_buggy() -> keras.Model:
    return network(2)


def tf_fixed() -> keras.Model:
    return network(4)


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(size=(2, 3, 6, 5)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 3, 1)}}
