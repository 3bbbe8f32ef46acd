"""Forward and backward weights of a bidirectional layer exchanged."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "bidirectional_swapped"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "Forward and backward weights of a bidirectional layer exchanged"
SYMPTOM = "The first half of each output belongs to the other direction"
WHY = "torch's _reverse tensors come last, as in Keras; the port put them first"
CAUSE = "direction-swapped"
FIX = "bidirectional.set_weights([*forward, *backward])"
PLACE = "both"
OPTIONS = {"weights": "keep"}


class Both(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.both = nn.LSTM(3, 4, batch_first=True, bidirectional=True)
        self.out = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.both(x)[0])


def torch_side() -> nn.Module:
    torch.manual_seed(33)
    return Both()


def copied(directions: tuple[str, str]) -> keras.Model:
    source = torch_side()
    both = keras.layers.Bidirectional(keras.layers.LSTM(4, return_sequences=True), name="both")
    out = keras.layers.Dense(2, name="out")
    model = keras.Sequential([keras.Input((6, 3)), both, out])
    theirs = {name: value.detach().numpy() for name, value in source.both.named_parameters()}
    new = []
    for suffix in directions:
        new += [theirs[f"weight_ih_l0{suffix}"].T, theirs[f"weight_hh_l0{suffix}"].T]
        new += [theirs[f"bias_ih_l0{suffix}"] + theirs[f"bias_hh_l0{suffix}"]]
    both.set_weights(new)
    out.set_weights([source.out.weight.detach().numpy().T, source.out.bias.detach().numpy()])
    return model


def tf_buggy() -> keras.Model:
    return copied(("_reverse", ""))


def tf_fixed() -> keras.Model:
    return copied(("", "_reverse"))


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(3, 6, 3)).astype(np.float32)}
