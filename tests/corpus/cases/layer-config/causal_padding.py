"""A causal convolution that looks into the future after the port."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "causal_padding"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "A causal convolution that looks into the future after the port"
SYMPTOM = "Training is suspiciously good, sampling one step at a time is bad"
WHY = "The torch model pads the past only; 'same' pads past and future"
CAUSE = "padding-causal"
FIX = 'keras.layers.Conv1D(5, 3, padding="causal")'
PLACE = "past"


class Predictor(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.past = nn.Conv1d(2, 5, 3, padding=2)
        self.out = nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = self.past(x.transpose(1, 2))[..., :-2]
        return self.out(torch.tanh(seen).transpose(1, 2))


def torch_side() -> nn.Module:
    return Predictor()


def predictor(padding: str) -> keras.Model:
    x = inputs = keras.Input((9, 2))
    x = keras.layers.Conv1D(5, 3, padding=padding, name="past")(x)
    return keras.Model(inputs, keras.layers.Dense(2, name="out")(keras.ops.tanh(x)))


def tf_buggy() -> keras.Model:
    return predictor("same")


def tf_fixed() -> keras.Model:
    return predictor("causal")


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(3, 9, 2)).astype(np.float32)}
