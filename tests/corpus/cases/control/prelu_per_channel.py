"""PReLU with a slope per channel."""

from __future__ import annotations

import keras
import numpy as np
import torch
from torch import nn

ID = "prelu_per_channel"
KIND = "control"
SUBJECT = "module"
TITLE = "PReLU with a slope per channel"
WHY = "Keras learns a slope per element unless the other axes are shared; here they are"
CHANNELS_LAST = True


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.act = nn.PReLU(4)
        with torch.no_grad():
            self.act.weight.copy_(torch.tensor([0.1, 0.3, -0.2, 0.5]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(self.conv(x))


def torch_side() -> nn.Module:
    return Net()


def copy_weights(source: nn.Module, model: keras.Model) -> None:
    conv, act = model.layers
    kernel = source.conv.weight.detach().numpy().transpose(2, 3, 1, 0)
    conv.set_weights([kernel, source.conv.bias.detach().numpy()])
    act.set_weights([source.act.weight.detach().numpy().reshape(1, 1, -1)])


def tf_fixed() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((6, 5, 1)),
            keras.layers.Conv2D(4, 3, name="conv"),
            keras.layers.PReLU(shared_axes=[1, 2], name="act"),
        ]
    )


def inputs(seed: int) -> dict[str, dict[str, np.ndarray]]:
    x = np.random.default_rng(seed).normal(size=(3, 1, 6, 5)).astype(np.float32)
    return {"torch": {"x": x}, "tf": {"x": x.transpose(0, 2, 3, 1)}}
