"""LayerNorm left at each framework's own epsilon."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "layernorm_epsilon"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "LayerNorm left at each framework's own epsilon"
SYMPTOM = "Features agree to three digits; the fewer the variance in a row, the further apart"
WHY = "torch adds 1e-5 to the variance, Keras 1e-3"
CAUSE = "norm-epsilon"
FIX = "keras.layers.LayerNormalization(epsilon=1e-5)"
PLACE = "body/norm"


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.ModuleDict({"fc": nn.Linear(7, 12), "norm": nn.LayerNorm(12)})
        self.head = nn.Linear(12, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body["norm"](self.body["fc"](x)))


def torch_side() -> nn.Module:
    return Encoder()


def encoder(**settings: float) -> keras.Model:
    x = inputs = keras.Input((7,))
    x = keras.layers.Dense(12, name="fc")(x)
    x = keras.layers.LayerNormalization(name="norm", **settings)(x)
    return keras.Model(inputs, keras.layers.Dense(5, name="head")(x))


def tf_buggy() -> keras.Model:
    return encoder()


def tf_fixed() -> keras.Model:
    return encoder(epsilon=1e-5)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(scale=0.3, size=(6, 7)).astype(np.float32)}
