"""Embedding rows moved by one."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "embedding_row_offset"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "Embedding rows moved by one"
SYMPTOM = "Every token has its neighbour's vector"
WHY = "The padding row stood last in one vocabulary and first in the other"
CAUSE = "rows-rolled"
FIX = "Copy the table row by row and move the tokens' numbers instead, or move both"
PLACE = "table"
OPTIONS = {"weights": "keep"}


def torch_side() -> nn.Module:
    torch.manual_seed(32)
    net = nn.Sequential()
    net.add_module("table", nn.Embedding(10, 6))
    net.add_module("out", nn.Linear(6, 3))
    return net


def copied(offset: int) -> keras.Model:
    source = torch_side()
    table = keras.layers.Embedding(10, 6, name="table")
    out = keras.layers.Dense(3, name="out")
    model = keras.Sequential([keras.Input((4,), dtype="int64"), table, out])
    table.set_weights([np.roll(source.table.weight.detach().numpy(), offset, axis=0)])
    out.set_weights([source.out.weight.detach().numpy().T, source.out.bias.detach().numpy()])
    return model


def tf_buggy() -> keras.Model:
    return copied(1)


def tf_fixed() -> keras.Model:
    return copied(0)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"tokens": np.random.default_rng(seed).integers(0, 10, size=(5, 4))}
