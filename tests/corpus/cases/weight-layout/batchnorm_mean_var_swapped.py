"""Running mean and variance handed over in the wrong order."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "batchnorm_mean_var_swapped"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "Running mean and variance handed over in the wrong order"
SYMPTOM = "NaN or huge activations behind the normalisation, or, with luck, merely wrong ones"
WHY = "set_weights wants gamma, beta, mean, variance"
CAUSE = "weights-swapped"
FIX = "norm.set_weights([weight, bias, running_mean, running_var])"
PLACE = "norm"
OPTIONS = {"weights": "keep"}


def torch_side() -> nn.Module:
    torch.manual_seed(31)
    net = nn.Sequential()
    net.add_module("norm", nn.BatchNorm1d(6))
    net.add_module("out", nn.Linear(6, 2))
    with torch.no_grad():
        net.norm.running_mean.uniform_(0.5, 1.0)
        net.norm.running_var.uniform_(1.5, 2.5)
        net.norm.weight.uniform_(0.5, 1.5)
    return net.eval()


def copied(swapped: bool) -> keras.Model:
    source = torch_side()
    norm = keras.layers.BatchNormalization(epsilon=1e-5, name="norm")
    out = keras.layers.Dense(2, name="out")
    model = keras.Sequential([keras.Input((6,)), norm, out])
    mean, variance = source.norm.running_mean.numpy(), source.norm.running_var.numpy()
    statistics = [variance, mean] if swapped else [mean, variance]
    scale, shift = source.norm.weight.detach().numpy(), source.norm.bias.detach().numpy()
    norm.set_weights([scale, shift, *statistics])
    out.set_weights([source.out.weight.detach().numpy().T, source.out.bias.detach().numpy()])
    return model


def tf_buggy() -> keras.Model:
    return copied(swapped=True)


def tf_fixed() -> keras.Model:
    return copied(swapped=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(5, 6)).astype(np.float32)}
