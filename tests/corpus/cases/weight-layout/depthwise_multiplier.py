"""Depthwise filters regrouped as (multiplier, channel)."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "depthwise_multiplier"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "Depthwise filters regrouped as (multiplier, channel)"
SYMPTOM = "With one filter per channel all is well; with three, channels are mixed up"
WHY = (
    "torch keeps the filters of one channel together, so [channel * multiplier] splits as "
    "(channel, multiplier)"
)
CAUSE = "kernel-axes"
FIX = "weight.reshape(channels, multiplier, h, w).transpose(2, 3, 0, 1)"
PLACE = "depth"
OPTIONS = {"weights": "keep"}
CHANNELS_LAST = True


CHANNELS, MULTIPLIER = 2, 3


def torch_side() -> nn.Module:
    torch.manual_seed(25)
    net = nn.Sequential()
    net.add_module("depth", nn.Conv2d(CHANNELS, CHANNELS * MULTIPLIER, 3, groups=CHANNELS))
    return net


def copied(channel_first: bool) -> keras.Model:
    source = torch_side().depth
    depth = keras.layers.DepthwiseConv2D(3, depth_multiplier=MULTIPLIER, name="depth")
    model = keras.Sequential([keras.Input((6, 5, CHANNELS)), depth])
    weight = source.weight.detach().numpy()
    if channel_first:
        kernel = weight.reshape(CHANNELS, MULTIPLIER, 3, 3).transpose(2, 3, 0, 1)
    else:
        kernel = weight.reshape(MULTIPLIER, CHANNELS, 3, 3).transpose(2, 3, 1, 0)
    depth.set_weights([kernel, source.bias.detach().numpy()])
    return model


def tf_buggy() -> keras.Model:
    return copied(channel_first=False)


def tf_fixed() -> keras.Model:
    return copied(channel_first=True)


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(size=(2, CHANNELS, 6, 5)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 3, 1)}}
