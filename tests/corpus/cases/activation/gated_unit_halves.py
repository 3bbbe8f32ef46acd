"""The two halves of a gated linear unit swapped."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F
from torch import nn

ID = "gated_unit_halves"
KIND = "activation"
SUBJECT = "module"
TITLE = "The two halves of a gated linear unit swapped"
SYMPTOM = "Same shapes, unrelated values behind the gate"
WHY = "F.glu gates the first half by the second; the port gates the second by the first"
CAUSE = "split-order"
FIX = "value, gate = tf.split(x, 2, axis=-1); value * tf.sigmoid(gate)"
PLACE = "out/input"


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.both = nn.Linear(5, 14)
        self.out = nn.Linear(7, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(F.glu(self.both(x), dim=-1))


def torch_side() -> nn.Module:
    return Gated()


class KerasGated(keras.Model):
    def __init__(self, gate_first: bool) -> None:
        super().__init__()
        self.both = keras.layers.Dense(14)
        self.out = keras.layers.Dense(3)
        self.gate_first = gate_first

    def call(self, x: tf.Tensor) -> tf.Tensor:
        first, second = tf.split(self.both(x), 2, axis=-1)
        gate, value = (first, second) if self.gate_first else (second, first)
        return self.out(value * tf.sigmoid(gate))


def tf_buggy() -> keras.Model:
    return KerasGated(gate_first=True)


def tf_fixed() -> keras.Model:
    return KerasGated(gate_first=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(6, 5)).astype(np.float32)}
