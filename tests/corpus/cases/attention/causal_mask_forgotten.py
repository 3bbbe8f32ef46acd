"""Attention that looks into the future."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "causal_mask_forgotten"
KIND = "attention"
SUBJECT = "module"
TITLE = "Attention that looks into the future"
SYMPTOM = "The training loss is far too good, and acting fails"
WHY = "use_causal_mask was left at its default"
CAUSE = "mask-missing"
FIX = "self.attend(x, x, use_causal_mask=True)"
PLACE = "attend"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        y, _ = self.attend(x, x, x, attn_mask=future, need_weights=False)
        return self.out(y)


def torch_side() -> nn.Module:
    return Net()


class KerasNet(keras.Model):
    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.attend = keras.layers.MultiHeadAttention(2, 4)
        self.out = keras.layers.Dense(3)
        self.causal = causal

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.out(self.attend(x, x, use_causal_mask=self.causal))


def tf_buggy() -> keras.Model:
    return KerasNet(causal=False)


def tf_fixed() -> keras.Model:
    return KerasNet(causal=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(2, 5, 8)).astype(np.float32)}
