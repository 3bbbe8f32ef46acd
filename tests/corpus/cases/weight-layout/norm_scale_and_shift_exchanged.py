"""Scale and shift of a normalisation exchanged."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "norm_scale_and_shift_exchanged"
KIND = "weight-layout"
SUBJECT = "module"
TITLE = "Scale and shift of a normalisation exchanged"
SYMPTOM = "Hidden values are near the old scale and have no spread"
WHY = "set_weights takes gamma, then beta"
CAUSE = "weights-swapped"
FIX = "layer.set_weights([weight, bias])"
PLACE = "norm"


OPTIONS = {"weights": "keep"}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(6)
        self.out = nn.Linear(6, 2)
        generator = torch.Generator().manual_seed(4)
        with torch.no_grad():
            for value in self.parameters():
                value.copy_(torch.rand(value.shape, generator=generator))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.norm(x))


def torch_side() -> nn.Module:
    return Net()


def model(exchanged: bool) -> keras.Model:
    net = keras.Sequential(
        [
            keras.layers.Input((6,)),
            keras.layers.LayerNormalization(epsilon=1e-5),
            keras.layers.Dense(2),
        ]
    )
    source = {n: p.detach().numpy() for n, p in torch_side().named_parameters()}
    pair = [source["norm.weight"], source["norm.bias"]]
    net.layers[0].set_weights(pair[::-1] if exchanged else pair)
    net.layers[1].set_weights([source["out.weight"].T, source["out.bias"]])
    return net


def tf_buggy() -> keras.Model:
    return model(True)


def tf_fixed() -> keras.Model:
    return model(False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(5, 6)).astype(np.float32)}
