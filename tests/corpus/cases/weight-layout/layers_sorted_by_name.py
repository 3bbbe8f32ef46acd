"""Weights assigned in the alphabetical order of the layers' names."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "layers_sorted_by_name"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "Weights assigned in the alphabetical order of the layers' names"
SYMPTOM = "A deep network of equal layers loads without complaint and gives other values"
WHY = "Sorted as text, l10 comes before l2"
CAUSE = "weights-of-other-layer"
FIX = "Go through the layers in the order of the forward pass"
PLACE = "l2"
OPTIONS = {"weights": "keep"}


DEPTH = 10


class Deep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for i in range(1, DEPTH + 1):
            self.add_module(f"l{i}", nn.Linear(6, 6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i in range(1, DEPTH + 1):
            x = torch.tanh(getattr(self, f"l{i}")(x))
        return x


def torch_side() -> nn.Module:
    torch.manual_seed(34)
    return Deep()


def copied(alphabetical: bool) -> keras.Model:
    layers = [keras.layers.Dense(6, activation="tanh", name=f"l{i}") for i in range(1, DEPTH + 1)]
    model = keras.Sequential([keras.Input((6,)), *layers])
    names = [layer.name for layer in layers]
    source = torch_side()
    for dense, name in zip(layers, sorted(names) if alphabetical else names, strict=True):
        linear = getattr(source, name)
        dense.set_weights([linear.weight.detach().numpy().T, linear.bias.detach().numpy()])
    return model


def tf_buggy() -> keras.Model:
    return copied(alphabetical=True)


def tf_fixed() -> keras.Model:
    return copied(alphabetical=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(4, 6)).astype(np.float32)}
