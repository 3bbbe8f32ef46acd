"""The weights were copied, the running statistics were not."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "statistics_not_copied"
KIND = "state"
SUBJECT = "module"
TITLE = "The weights were copied, the running statistics were not"
SYMPTOM = "Agreement in training mode, other values in inference mode"
WHY = "parameters() does not list buffers: the moving mean and variance stay 0 and 1"
CAUSE = "weights-not-copied"
FIX = "norm.set_weights([weight, bias, running_mean, running_var])"
PLACE = "norm"
OPTIONS = {"weights": "keep"}


class Body(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(5)
        self.out = nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.norm(x))


def torch_side() -> nn.Module:
    torch.manual_seed(3)
    module = Body()
    module(torch.randn(20, 5, generator=torch.Generator().manual_seed(1)) * 2 + 1)
    return module.eval()


def copied(statistics: bool) -> keras.Model:
    source = torch_side()
    norm, out = keras.layers.BatchNormalization(epsilon=1e-5, name="norm"), keras.layers.Dense(2)
    x = keras.Input((5,))
    model = keras.Model(x, out(norm(x)))
    out.set_weights([source.out.weight.detach().numpy().T, source.out.bias.detach().numpy()])
    norm.gamma.assign(source.norm.weight.detach().numpy())
    norm.beta.assign(source.norm.bias.detach().numpy())
    if statistics:
        norm.moving_mean.assign(source.norm.running_mean.numpy())
        norm.moving_variance.assign(source.norm.running_var.numpy())
    return model


def tf_buggy() -> keras.Model:
    return copied(statistics=False)


def tf_fixed() -> keras.Model:
    return copied(statistics=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(7, 5)).astype(np.float32)}
