"""A parameter of the user's own left at another start."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "log_std_start"
KIND = "init"
SUBJECT = "module"
TITLE = "A parameter of the user's own left at another start"
SYMPTOM = "The mean agrees, the policy explores more than before"
WHY = (
    "torch starts log_std at -0.7, add_weight starts at zero, and the copy went through the "
    "layers only"
)
CAUSE = "initial-value|weights-not-copied"
FIX = "self.log_std = self.add_weight(shape=(2,), initializer=keras.initializers.Constant(-0.7))"
PLACE = "log_std"
OPTIONS = {"weights": "keep"}


class Policy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Linear(3, 2)
        self.log_std = nn.Parameter(torch.full((2,), -0.7))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean = self.mean(x)
        return mean, self.log_std.exp().expand_as(mean)


def torch_side() -> nn.Module:
    torch.manual_seed(44)
    return Policy()


class KerasPolicy(keras.Model):
    def __init__(self, start: float) -> None:
        super().__init__()
        self.mean = keras.layers.Dense(2)
        self.log_std = self.add_weight(
            shape=(2,), initializer=keras.initializers.Constant(start), name="log_std"
        )

    def call(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        mean = self.mean(x)
        return mean, tf.exp(self.log_std) * tf.ones_like(mean)


def copied(start: float) -> keras.Model:
    source, model = torch_side(), KerasPolicy(start)
    model(np.zeros((1, 3), np.float32))
    weight, bias = source.mean.weight.detach().numpy().T, source.mean.bias.detach().numpy()
    model.mean.set_weights([weight, bias])
    return model


def tf_buggy() -> keras.Model:
    return copied(0.0)


def tf_fixed() -> keras.Model:
    return copied(float(np.float32(-0.7)))


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(5, 3)).astype(np.float32)}
