"""A convolution kernel flipped during the copy."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "conv1d_kernel_flipped"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "A convolution kernel flipped during the copy"
SYMPTOM = "Filters respond to the mirrored pattern"
WHY = (
    "Both frameworks compute a cross-correlation; a flip is right only for a mathematical "
    "convolution"
)
CAUSE = "kernel-flipped"
FIX = "Copy the kernel as it stands: weight.transpose(2, 1, 0)"
PLACE = "conv"
OPTIONS = {"weights": "keep"}


class Filter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(3, 6, 5, padding=2)
        self.out = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.conv(x.transpose(1, 2)).transpose(1, 2))


def torch_side() -> nn.Module:
    torch.manual_seed(23)
    return Filter()


def copied(flip: bool) -> keras.Model:
    source = torch_side()
    conv = keras.layers.Conv1D(6, 5, padding="same", name="conv")
    out = keras.layers.Dense(2, name="out")
    model = keras.Sequential([keras.Input((9, 3)), conv, out])
    kernel = source.conv.weight.detach().numpy().transpose(2, 1, 0)
    conv.set_weights([kernel[::-1] if flip else kernel, source.conv.bias.detach().numpy()])
    out.set_weights([source.out.weight.detach().numpy().T, source.out.bias.detach().numpy()])
    return model


def tf_buggy() -> keras.Model:
    return copied(flip=True)


def tf_fixed() -> keras.Model:
    return copied(flip=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(2, 9, 3)).astype(np.float32)}
