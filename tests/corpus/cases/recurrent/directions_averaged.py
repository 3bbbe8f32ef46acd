"""The two directions averaged instead of added."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "directions_averaged"
KIND = "recurrent"
SUBJECT = "module"
TITLE = "The two directions averaged instead of added"
SYMPTOM = "Everything behind the layer is exactly half as large"
WHY = 'merge_mode="ave" divides by two'
CAUSE = "factor|factor-two|constant-factor"
FIX = 'keras.layers.Bidirectional(..., merge_mode="sum")'
PLACE = "out/input"


class Merge(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(4, 3, batch_first=True, bidirectional=True)
        self.out = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        there, back = self.rnn(x)[0].chunk(2, dim=-1)
        return self.out(there + back)


def torch_side() -> nn.Module:
    return Merge()


def network(mode: str) -> keras.Model:
    gru = keras.layers.GRU(3, return_sequences=True)
    return keras.Sequential(
        [
            keras.Input((5, 4)),
            keras.layers.Bidirectional(gru, merge_mode=mode, name="rnn"),
            keras.layers.Dense(2, name="out"),
        ]
    )


def tf_buggy() -> keras.Model:
    return network("ave")


def tf_fixed() -> keras.Model:
    return network("sum")


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(3, 5, 4)).astype(np.float32)}
