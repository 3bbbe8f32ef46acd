"""The embedding of the padding token is trained."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "padding_row_trained"
KIND = "gradient"
SUBJECT = "module"
TITLE = "The embedding of the padding token is trained"
SYMPTOM = "Forward passes agree, and the padding row's vector drifts away from zero"
WHY = (
    "nn.Embedding(padding_idx=0) blocks the gradient of that row, keras.layers.Embedding has "
    "no such option"
)
CAUSE = "embedding-padding"
FIX = "Multiply the looked-up vectors by the mask of the tokens that are not padding"
PLACE = "grad/table"
OPTIONS = {"weights": "keep"}


def torch_side() -> nn.Module:
    torch.manual_seed(37)
    net = nn.Sequential()
    net.add_module("table", nn.Embedding(9, 4, padding_idx=0))
    net.add_module("out", nn.Linear(4, 2))
    return net


class Tokens(keras.Model):
    def __init__(self, blocked: bool) -> None:
        super().__init__()
        self.table = keras.layers.Embedding(9, 4)
        self.out = keras.layers.Dense(2)
        self.blocked = blocked

    def call(self, tokens: tf.Tensor) -> tf.Tensor:
        x = self.table(tokens)
        if self.blocked:
            x = x * tf.cast(tokens != 0, x.dtype)[..., None]
        return self.out(x)


def copied(blocked: bool) -> keras.Model:
    source, model = torch_side(), Tokens(blocked)
    model(np.zeros((1, 3), np.int64))
    model.table.set_weights([source.table.weight.detach().numpy()])
    weight, bias = source.out.weight.detach().numpy().T, source.out.bias.detach().numpy()
    model.out.set_weights([weight, bias])
    return model


def tf_buggy() -> keras.Model:
    return copied(blocked=False)


def tf_fixed() -> keras.Model:
    return copied(blocked=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    tokens = np.random.default_rng(seed).integers(1, 9, size=(5, 6))
    tokens[:, 4:] = 0
    return {"tokens": tokens}
