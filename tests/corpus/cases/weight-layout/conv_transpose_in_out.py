"""Input and output channels of a transposed convolution not exchanged."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "conv_transpose_in_out"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "Input and output channels of a transposed convolution not exchanged"
SYMPTOM = "A decoder with equal channel counts loads without complaint and paints noise"
WHY = (
    "torch stores [in, out, h, w], Keras [h, w, out, in]: the other way round than for a "
    "convolution"
)
CAUSE = "kernel-axes"
FIX = "weight.transpose(2, 3, 1, 0), as [in, out, h, w] becomes [h, w, out, in]"
PLACE = "up"
OPTIONS = {"weights": "keep"}
CHANNELS_LAST = True


def torch_side() -> nn.Module:
    torch.manual_seed(24)
    net = nn.Sequential()
    net.add_module("up", nn.ConvTranspose2d(3, 3, 2, stride=2))
    return net


def copied(axes: tuple[int, ...]) -> keras.Model:
    source = torch_side().up
    up = keras.layers.Conv2DTranspose(3, 2, strides=2, name="up")
    model = keras.Sequential([keras.Input((4, 5, 3)), up])
    up.set_weights([source.weight.detach().numpy().transpose(axes), source.bias.detach().numpy()])
    return model


def tf_buggy() -> keras.Model:
    return copied((2, 3, 0, 1))


def tf_fixed() -> keras.Model:
    return copied((2, 3, 1, 0))


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(size=(2, 3, 4, 5)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 3, 1)}}
