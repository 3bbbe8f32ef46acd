"""Batch normalisation over the width instead of the channels."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "batchnorm_axis"
KIND = "data-layout"
SUBJECT = "module"
TITLE = "Batch normalisation over the width instead of the channels"
SYMPTOM = "A square feature map hides it: as many columns as channels, so every shape fits"
WHY = "BatchNormalization's default axis is the last one, also for channels-first data"
CAUSE = "norm-axis"
FIX = "keras.layers.BatchNormalization(axis=1, epsilon=1e-5)"
PLACE = "norm"


def torch_side() -> nn.Module:
    torch.manual_seed(43)
    net = nn.Sequential()
    net.add_module("norm", nn.BatchNorm2d(5))
    with torch.no_grad():
        net.norm.weight.uniform_(0.5, 1.5)
        net.norm.running_mean.uniform_(-1.0, 1.0)
        net.norm.running_var.uniform_(0.5, 2.0)
    return net.eval()


def network(axis: int) -> keras.Model:
    norm = keras.layers.BatchNormalization(axis=axis, epsilon=1e-5, name="norm")
    return keras.Sequential([keras.Input((5, 3, 5)), norm])


def tf_buggy() -> keras.Model:
    return network(-1)


def tf_fixed() -> keras.Model:
    return network(1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(2, 5, 3, 5)).astype(np.float32)}
