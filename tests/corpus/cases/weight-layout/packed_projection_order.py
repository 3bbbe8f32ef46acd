"""Packed query, key and value projections taken apart in another order."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "packed_projection_order"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "Packed query, key and value projections taken apart in another order"
SYMPTOM = "Attention looks at the right shapes and the wrong positions"
WHY = "torch packs query, key, value; the port read key, query, value"
CAUSE = "packed-projection"
FIX = "query, key, value = np.split(in_proj_weight, 3)"
PLACE = "attn"
OPTIONS = {"weights": "keep"}


WIDTH, HEADS = 8, 2


class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attn = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.out = nn.Linear(WIDTH, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.attn(x, x, x, need_weights=False)[0])


def torch_side() -> nn.Module:
    torch.manual_seed(30)
    return Mixer()


class KerasMixer(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.attn = keras.layers.MultiHeadAttention(HEADS, WIDTH // HEADS)
        self.out = keras.layers.Dense(3)

    def call(self, x: object) -> object:
        return self.out(self.attn(x, x))


def copied(order: tuple[int, int, int]) -> keras.Model:
    source = torch_side()
    model = KerasMixer()
    model(np.zeros((1, 4, WIDTH), np.float32))
    packed = np.split(source.attn.in_proj_weight.detach().numpy(), 3)
    new = []
    for i in order:
        new += [packed[i].T.reshape(WIDTH, HEADS, -1), np.zeros((HEADS, WIDTH // HEADS))]
    out = source.attn.out_proj
    new += [out.weight.detach().numpy().T.reshape(HEADS, -1, WIDTH), out.bias.detach().numpy()]
    model.attn.set_weights(new)
    model.out.set_weights([source.out.weight.detach().numpy().T, source.out.bias.detach().numpy()])
    return model


def tf_buggy() -> keras.Model:
    return copied((1, 0, 2))


def tf_fixed() -> keras.Model:
    return copied((0, 1, 2))


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(3, 4, WIDTH)).astype(np.float32)}
