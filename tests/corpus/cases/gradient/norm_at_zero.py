"""The gradient of a norm at the zero vector."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "norm_at_zero"
KIND = "gradient"
SUBJECT = "function"
TITLE = "The gradient of a norm at the zero vector"
SYMPTOM = "NaN weights after a batch that holds one all-zero row"
WHY = "torch defines the derivative at 0 as 0, tf.norm divides by zero"
CAUSE = "norm-gradient"
FIX = "tf.sqrt(tf.where(s > 0, s, 1.0)) with s = tf.reduce_sum(x * x, -1), masked by s > 0"
PLACE = "grad/x"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vector_norm(x, dim=-1)


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return tf.norm(x, axis=-1)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    squares = tf.reduce_sum(tf.square(x), -1)
    safe = tf.sqrt(tf.where(squares > 0, squares, tf.ones_like(squares)))
    return tf.where(squares > 0, safe, tf.zeros_like(safe))


def inputs(seed: int) -> dict[str, np.ndarray]:
    x = np.random.default_rng(seed).normal(size=(4, 3))
    x[2] = 0.0
    return {"x": x.astype(np.float32)}
