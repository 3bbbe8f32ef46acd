"""A buffer of one framework is a constant in the other's code."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "buffer_for_a_constant"
KIND = "control"
SUBJECT = "module"
TITLE = "A buffer of one framework is a constant in the other's code"
WHY = "register_buffer keeps an array with the module; no weight is missing on the other side"


class Standardise(nn.Module):
    """A layer without weights, of two buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.5, -1.0, 0.25, 2.0]))
        self.register_buffer("std", torch.tensor([0.5, 2.0, 0.25, 1.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x - self.mean) / self.std


class Expected(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.standardise = Standardise()
        self.out = nn.Linear(4, 6)
        self.register_buffer("support", torch.linspace(-2.0, 3.0, 6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (torch.softmax(self.out(self.standardise(x)), -1) * self.support).sum(-1)


def torch_side() -> nn.Module:
    return Expected()


class KerasExpected(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.out = keras.layers.Dense(6)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        support = tf.cast(tf.linspace(-2.0, 3.0, 6), x.dtype)
        mean = tf.constant([0.5, -1.0, 0.25, 2.0], x.dtype)
        x = (x - mean) / tf.constant([0.5, 2.0, 0.25, 1.0], x.dtype)
        return tf.reduce_sum(tf.nn.softmax(self.out(x)) * support, axis=-1)


def tf_fixed() -> keras.Model:
    return KerasExpected()


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(5, 4)).astype(np.float32)}


def copy_weights(module: nn.Module, model: keras.Model) -> None:
    out = module.out
    model.out.set_weights([out.weight.detach().numpy().T, out.bias.detach().numpy()])
