"""Padded keys take part in the attention."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "padding_attended"
KIND = "attention"
SUBJECT = "function"
TITLE = "Padded keys take part in the attention"
SYMPTOM = "A short sequence gets another result when it is padded further"
WHY = "The scores of padded keys are not masked"
CAUSE = "mask-missing"
FIX = "scores = tf.where(real[:, None, :], scores, -1e9)"
PLACE = "output"


def torch_side(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, real: torch.Tensor
) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=real[:, None, :])


def tf_buggy(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor, real: tf.Tensor) -> tf.Tensor:
    scores = tf.matmul(q, k, transpose_b=True) / q.shape[-1] ** 0.5
    return tf.matmul(tf.nn.softmax(scores, axis=-1), v)


def tf_fixed(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor, real: tf.Tensor) -> tf.Tensor:
    scores = tf.matmul(q, k, transpose_b=True) / q.shape[-1] ** 0.5
    scores = tf.where(real[:, None, :], scores, tf.constant(-1e9, scores.dtype))
    return tf.matmul(tf.nn.softmax(scores, axis=-1), v)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "q": rng.normal(size=(2, 4, 6)).astype(np.float32),
        "k": rng.normal(size=(2, 5, 6)).astype(np.float32),
        "v": rng.normal(size=(2, 5, 3)).astype(np.float32),
        "real": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], bool),
    }
