"""A convolution's kernel copied with both channel axes exchanged."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "conv1d_kernel_square"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "A convolution's kernel copied with both channel axes exchanged"
SYMPTOM = "Shapes fit, since there are as many channels in as out"
WHY = "torch keeps (out, in, width), Keras (width, in, out)"
CAUSE = "kernel-axes|axis-order"
FIX = "weight.transpose(2, 1, 0)"
PLACE = "conv"
CHANNELS_LAST = True


OPTIONS = {"weights": "keep"}


def torch_side() -> nn.Module:
    torch.manual_seed(5)
    net = nn.Sequential()
    net.add_module("conv", nn.Conv1d(4, 4, 3))
    return net


def model(axes: tuple[int, int, int]) -> keras.Model:
    net = keras.Sequential([keras.layers.Input((7, 4)), keras.layers.Conv1D(4, 3)])
    source = torch_side().conv
    kernel = source.weight.detach().numpy().transpose(axes)
    net.layers[0].set_weights([kernel, source.bias.detach().numpy()])
    return net


def tf_buggy() -> keras.Model:
    return model((2, 0, 1))


def tf_fixed() -> keras.Model:
    return model((2, 1, 0))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, 4, 7)).astype(np.float32)
    return {"torch": [x], "tf": [np.moveaxis(x, 1, -1)]}
