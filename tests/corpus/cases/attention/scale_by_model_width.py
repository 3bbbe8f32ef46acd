"""Attention scaled by the model's width instead of the head's."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "scale_by_model_width"
KIND = "attention"
SUBJECT = "function"
TITLE = "Attention scaled by the model's width instead of the head's"
SYMPTOM = "Attention is too flat as soon as there is more than one head"
WHY = "1 / sqrt(width) with width = heads * depth"
CAUSE = "attention-scale|constant-factor|constant"
FIX = "scores / (width // heads) ** 0.5"
PLACE = "output"


WIDTH, HEADS = 12, 3


def torch_side(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = q @ k.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5
    return torch.softmax(scores, -1) @ v


def tf_buggy(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    scores = tf.matmul(q, k, transpose_b=True) / WIDTH**0.5
    return tf.matmul(tf.nn.softmax(scores), v)


def tf_fixed(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    scores = tf.matmul(q, k, transpose_b=True) / (WIDTH // HEADS) ** 0.5
    return tf.matmul(tf.nn.softmax(scores), v)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shape = (2, HEADS, 5, WIDTH // HEADS)
    return {name: rng.normal(size=shape).astype(np.float32) for name in ("q", "k", "v")}
