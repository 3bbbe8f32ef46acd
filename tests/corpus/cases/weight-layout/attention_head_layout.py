"""Attention projections split into heads along the wrong factor."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "attention_head_layout"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "Attention projections split into heads along the wrong factor"
SYMPTOM = "One head works, several do not"
WHY = "The rows of torch's projection are (head, depth); the port reshaped them as (depth, head)"
CAUSE = "head-layout"
FIX = "weight.T.reshape(width, heads, depth)"
PLACE = "attend"
OPTIONS = {"weights": "keep"}


WIDTH, HEADS = 12, 3


class Attend(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.attend(x, x, x, need_weights=False)[0]


def torch_side() -> nn.Module:
    torch.manual_seed(29)
    return Attend()


class KerasAttend(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.attend = keras.layers.MultiHeadAttention(HEADS, WIDTH // HEADS)

    def call(self, x: object) -> object:
        return self.attend(x, x)


def copied(head_major: bool) -> keras.Model:
    source = torch_side().attend
    model = KerasAttend()
    model(np.zeros((1, 5, WIDTH), np.float32))

    def split(weight: np.ndarray) -> np.ndarray:
        if head_major:
            return weight.T.reshape(-1, HEADS, WIDTH // HEADS)
        return weight.T.reshape(-1, WIDTH // HEADS, HEADS).swapaxes(1, 2)

    new = []
    for weight in np.split(source.in_proj_weight.detach().numpy(), 3):
        new += [split(weight), np.zeros((HEADS, WIDTH // HEADS))]
    out = source.out_proj
    new += [out.weight.detach().numpy().T.reshape(HEADS, -1, WIDTH), out.bias.detach().numpy()]
    model.attend.set_weights(new)
    return model


def tf_buggy() -> keras.Model:
    return copied(head_major=False)


def tf_fixed() -> keras.Model:
    return copied(head_major=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(2, 5, WIDTH)).astype(np.float32)}
