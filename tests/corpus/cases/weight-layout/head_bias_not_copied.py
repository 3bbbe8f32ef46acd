"""A bias that the copy left out."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "head_bias_not_copied"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "A bias that the copy left out"
SYMPTOM = "Every output is off by a constant per unit"
WHY = "Only tensors named 'weight' were copied; the Keras bias kept its initial zeros"
CAUSE = "weights-not-copied"
FIX = "head.set_weights([weight.T, bias])"
PLACE = "head"
OPTIONS = {"weights": "keep"}


def torch_side() -> nn.Module:
    torch.manual_seed(35)
    net = nn.Sequential()
    net.add_module("body", nn.Linear(4, 9))
    net.add_module("act", nn.ReLU())
    net.add_module("head", nn.Linear(9, 3))
    return net


def copied(with_bias: bool) -> keras.Model:
    source = torch_side()
    body = keras.layers.Dense(9, activation="relu", name="body")
    head = keras.layers.Dense(3, name="head")
    model = keras.Sequential([keras.Input((4,)), body, head])
    body.set_weights([source.body.weight.detach().numpy().T, source.body.bias.detach().numpy()])
    head.kernel.assign(source.head.weight.detach().numpy().T)
    if with_bias:
        head.bias.assign(source.head.bias.detach().numpy())
    return model


def tf_buggy() -> keras.Model:
    return copied(with_bias=False)


def tf_fixed() -> keras.Model:
    return copied(with_bias=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(6, 4)).astype(np.float32)}
