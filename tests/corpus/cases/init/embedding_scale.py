"""Embeddings that start far smaller."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

ID = "embedding_scale"
KIND = "init"
SUBJECT = "function"
TITLE = "Embeddings that start far smaller"
SYMPTOM = "A fresh model learns slowly: the first layer's outputs are 35 times smaller"
WHY = "nn.Embedding draws from N(0, 1), keras.layers.Embedding from U(-0.05, 0.05)"
CAUSE = "initializer"
FIX = (
    "keras.layers.Embedding(n, d, "
    "embeddings_initializer=keras.initializers.RandomNormal(stddev=1.0))"
)
PLACE = "output"
FLOAT64 = False


ROWS, WIDTH = 2000, 50


def torch_side(x: torch.Tensor) -> torch.Tensor:
    table = torch.nn.Embedding(ROWS, WIDTH).weight.detach()
    return x + torch.round(10 * table.std()) / 10


def shifted(x: tf.Tensor, initializer: object) -> tf.Tensor:
    layer = keras.layers.Embedding(ROWS, WIDTH, embeddings_initializer=initializer, dtype="float32")
    layer.build((None, 1))
    spread = tf.math.reduce_std(tf.convert_to_tensor(layer.embeddings))
    return x + tf.round(10 * spread) / 10


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return shifted(x, "uniform")


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return shifted(x, keras.initializers.RandomNormal(stddev=1.0))


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=3).astype(np.float32)}
