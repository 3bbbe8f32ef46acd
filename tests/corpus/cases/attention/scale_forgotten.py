"""Attention scores not divided by the square root of the depth."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "scale_forgotten"
KIND = "attention"
SUBJECT = "function"
TITLE = "Attention scores not divided by the square root of the depth"
SYMPTOM = "Attention is too sharp, and the sharper the deeper the heads"
WHY = "The scale hides in scaled_dot_product_attention and was not written out in the port"
CAUSE = "attention-scale|constant-factor|missing-operation"
FIX = "scores = tf.matmul(q, k, transpose_b=True) / depth**0.5"
PLACE = "output"


def torch_side(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v)


def attention(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor, scale: float) -> tf.Tensor:
    scores = tf.matmul(q, k, transpose_b=True) * scale
    return tf.matmul(tf.nn.softmax(scores, axis=-1), v)


def tf_buggy(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return attention(q, k, v, 1.0)


def tf_fixed(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return attention(q, k, v, q.shape[-1] ** -0.5)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "q": rng.normal(size=(2, 3, 5, 7)).astype(np.float32),
        "k": rng.normal(size=(2, 3, 6, 7)).astype(np.float32),
        "v": rng.normal(size=(2, 3, 6, 4)).astype(np.float32),
    }
