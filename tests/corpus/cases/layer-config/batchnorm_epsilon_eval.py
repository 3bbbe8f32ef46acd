"""BatchNorm left at each framework's own epsilon, in inference mode."""

from __future__ import annotations

import keras
import numpy as np
from torch import nn

ID = "batchnorm_epsilon_eval"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "BatchNorm left at each framework's own epsilon, in inference mode"
SYMPTOM = (
    "A pretrained network gives slightly other features after the port, most where a channel "
    "hardly varies"
)
WHY = "torch adds 1e-5 to the running variance, Keras 1e-3"
CAUSE = "norm-epsilon"
FIX = "keras.layers.BatchNormalization(epsilon=1e-5)"
PLACE = "1"
CHANNELS_LAST = True


def torch_side() -> nn.Module:
    return nn.Sequential(nn.Conv2d(2, 6, 3), nn.BatchNorm2d(6), nn.ReLU())


def network(epsilon: float) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((9, 7, 2)),
            keras.layers.Conv2D(6, 3),
            keras.layers.BatchNormalization(epsilon=epsilon),
            keras.layers.ReLU(),
        ]
    )


def tf_buggy() -> keras.Model:
    return network(1e-3)


def tf_fixed() -> keras.Model:
    return network(1e-5)


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(size=(3, 2, 9, 7)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 3, 1)}}
