"""One of two towers ends without the normalisation of its embedding."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F
from torch import nn

ID = "one_tower_normalised"
KIND = "layer-config"
SUBJECT = "module"
TITLE = "One of two towers ends without the normalisation of its embedding"
SYMPTOM = "Similarities leave [-1, 1]; long texts match everything"
WHY = "F.normalize was ported for one of the two embeddings only"
CAUSE = "missing-operation|normalisation"
FIX = "tf.math.l2_normalize(self.text(text), axis=-1)"
PLACE = "output"


class Towers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.image = nn.Linear(7, 5)
        self.text = nn.Linear(3, 5)

    def forward(self, image: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        left = F.normalize(self.image(image), dim=-1)
        right = F.normalize(self.text(text), dim=-1)
        return left @ right.T


def torch_side() -> nn.Module:
    return Towers()


class KerasTowers(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.image = keras.layers.Dense(5)
        self.text = keras.layers.Dense(5)

    def call(self, image: tf.Tensor, text: tf.Tensor) -> tf.Tensor:
        left = tf.math.l2_normalize(self.image(image), axis=-1)
        return tf.matmul(left, self.second(self.text(text)), transpose_b=True)

    def second(self, text: tf.Tensor) -> tf.Tensor:
        return text


class Normalised(KerasTowers):
    def second(self, text: tf.Tensor) -> tf.Tensor:
        return tf.math.l2_normalize(text, axis=-1)


def tf_buggy() -> keras.Model:
    return KerasTowers()


def tf_fixed() -> keras.Model:
    return Normalised()


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "image": rng.normal(size=(6, 7)).astype(np.float32),
        "text": rng.normal(size=(6, 3)).astype(np.float32),
    }
