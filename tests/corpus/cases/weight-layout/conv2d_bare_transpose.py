"""A convolution kernel copied with a bare .T."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "conv2d_bare_transpose"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "A convolution kernel copied with a bare .T"
SYMPTOM = (
    "Feature maps look like those of the mirrored kernel: horizontal edges where vertical ones were"
)
WHY = ".T reverses all four axes, so height and width change places too"
CAUSE = "kernel-axes"
FIX = "conv.weight.detach().numpy().transpose(2, 3, 1, 0)"
PLACE = "conv"
OPTIONS = {"weights": "keep"}
CHANNELS_LAST = True


def torch_side() -> nn.Module:
    torch.manual_seed(22)
    net = nn.Sequential()
    net.add_module("conv", nn.Conv2d(2, 4, 3))
    net.add_module("act", nn.ReLU())
    return net


def copied(axes: tuple[int, ...]) -> keras.Model:
    source = torch_side().conv
    conv = keras.layers.Conv2D(4, 3, name="conv")
    model = keras.Sequential([keras.Input((7, 6, 2)), conv, keras.layers.ReLU(name="act")])
    kernel = source.weight.detach().numpy().transpose(axes)
    conv.set_weights([kernel, source.bias.detach().numpy()])
    return model


def tf_buggy() -> keras.Model:
    return copied((3, 2, 1, 0))


def tf_fixed() -> keras.Model:
    return copied((2, 3, 1, 0))


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(size=(3, 2, 7, 6)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 3, 1)}}
