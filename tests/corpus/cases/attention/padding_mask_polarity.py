"""A padding mask with the opposite meaning."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "padding_mask_polarity"
KIND = "attention"
SUBJECT = "module"
TITLE = "A padding mask with the opposite meaning"
SYMPTOM = "The model attends to the padding and to nothing else"
WHY = "torch's key_padding_mask marks what to ignore, Keras's attention_mask what to keep"
CAUSE = "mask-polarity"
FIX = "attention_mask=tf.logical_not(padding)[:, None, :]"
PLACE = "attend"
FLOAT32_CONSTANTS = True


class Pooler(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(10, 2, batch_first=True)
        self.out = nn.Linear(10, 3)

    def forward(self, x: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        mixed, _ = self.attend(x, x, x, key_padding_mask=padding, need_weights=False)
        return self.out(mixed)


def torch_side() -> nn.Module:
    return Pooler()


class KerasPooler(keras.Model):
    def __init__(self, inverted: bool) -> None:
        super().__init__()
        self.attend = keras.layers.MultiHeadAttention(2, 5)
        self.out = keras.layers.Dense(3)
        self.inverted = inverted

    def call(self, x: tf.Tensor, padding: tf.Tensor) -> tf.Tensor:
        keep = tf.logical_not(padding) if self.inverted else padding
        return self.out(self.attend(x, x, attention_mask=keep[:, None, :]))


def tf_buggy() -> keras.Model:
    return KerasPooler(inverted=False)


def tf_fixed() -> keras.Model:
    return KerasPooler(inverted=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    padding = np.zeros((3, 6), bool)
    padding[0, 4:] = padding[1, 5:] = padding[2, 2:] = True
    x = np.random.default_rng(seed).normal(size=(3, 6, 10)).astype(np.float32)
    return {"x": x, "padding": padding}
