"""Dilation left out of a convolution."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "dilation_forgotten"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "Dilation left out of a convolution"
SYMPTOM = "The network sees less context than before; shapes and weight counts are unchanged"
WHY = "With 'same' padding the output has the same size whatever the dilation"
CAUSE = "dilation"
FIX = 'keras.layers.Conv1D(6, 3, dilation_rate=2, padding="same")'
PLACE = "context"
CHANNELS_LAST = True


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.context = nn.Conv1d(4, 6, 3, padding=2, dilation=2)
        self.tag = nn.Conv1d(6, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.tag(torch.relu(self.context(x))).mean(-1)


def torch_side() -> nn.Module:
    return Tagger()


def tagger(dilation: int) -> keras.Model:
    x = inputs = keras.Input((11, 4))
    x = keras.layers.Conv1D(6, 3, dilation_rate=dilation, padding="same", name="context")(x)
    x = keras.layers.Conv1D(3, 1, name="tag")(keras.ops.relu(x))
    return keras.Model(inputs, keras.ops.mean(x, axis=1))


def tf_buggy() -> keras.Model:
    return tagger(1)


def tf_fixed() -> keras.Model:
    return tagger(2)


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(size=(3, 4, 11)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 1)}}
