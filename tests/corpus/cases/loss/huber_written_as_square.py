"""A squared error where torch has the Huber loss."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "huber_written_as_square"
KIND = "loss"
SUBJECT = "function"
TITLE = "A squared error where torch has the Huber loss"
SYMPTOM = "Large errors dominate the gradient"
WHY = "The linear part beyond delta was left out"
CAUSE = "loss-kind|clip-missing"
FIX = "tf.where(size <= 1.0, 0.5 * u**2, size - 0.5)"
PLACE = "output"


def torch_side(q: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    u = q - target
    size = u.abs()
    return torch.where(size <= 1.0, 0.5 * u**2, size - 0.5).mean()


def tf_buggy(q: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(0.5 * (q - target) ** 2)


def tf_fixed(q: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    u = q - target
    size = tf.abs(u)
    return tf.reduce_mean(tf.where(size <= 1.0, 0.5 * u**2, size - 0.5))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {n: rng.normal(scale=2, size=11).astype(np.float32) for n in ("q", "target")}
