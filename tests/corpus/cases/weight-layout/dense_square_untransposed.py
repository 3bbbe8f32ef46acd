"""A square Linear weight copied without its transpose."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "dense_square_untransposed"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "A square Linear weight copied without its transpose"
SYMPTOM = "Layers with different sizes agree, the square one in the middle does not"
WHY = (
    "torch stores [out, in], Keras [in, out]; a copy that transposes only when shapes differ "
    "misses the square one"
)
CAUSE = "kernel-transposed"
FIX = "dense.set_weights([linear.weight.detach().numpy().T, linear.bias.detach().numpy()])"
PLACE = "mid"
OPTIONS = {"weights": "keep"}


def torch_side() -> nn.Module:
    torch.manual_seed(21)
    net = nn.Sequential()
    net.add_module("first", nn.Linear(5, 8))
    net.add_module("mid", nn.Linear(8, 8))
    net.add_module("last", nn.Linear(8, 3))
    return net


def copied(always: bool) -> keras.Model:
    source = torch_side()
    names = ("first", "mid", "last")
    sizes = (8, 8, 3)
    layers = [keras.layers.Dense(n, name=name) for n, name in zip(sizes, names, strict=True)]
    model = keras.Sequential([keras.Input((5,)), *layers])
    for dense, name in zip(layers, names, strict=True):
        weight = getattr(source, name).weight.detach().numpy()
        if always or weight.shape != tuple(dense.kernel.shape):
            weight = weight.T
        dense.set_weights([weight, getattr(source, name).bias.detach().numpy()])
    return model


def tf_buggy() -> keras.Model:
    return copied(always=False)


def tf_fixed() -> keras.Model:
    return copied(always=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(4, 5)).astype(np.float32)}
