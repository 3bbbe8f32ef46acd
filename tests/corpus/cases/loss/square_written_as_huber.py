"""A Huber loss where torch has the squared error."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "square_written_as_huber"
KIND = "loss"
SUBJECT = "function"
TITLE = "A Huber loss where torch has the squared error"
SYMPTOM = "Rare large returns are learned far too slowly"
WHY = "The port caps the gradient of large errors, which torch does not"
CAUSE = "loss-kind|clip-extra"
FIX = "tf.reduce_mean(0.5 * u**2)"
PLACE = "output"


def torch_side(v: torch.Tensor, returns: torch.Tensor) -> torch.Tensor:
    return 0.5 * F.mse_loss(v, returns)


def tf_buggy(v: tf.Tensor, returns: tf.Tensor) -> tf.Tensor:
    size = tf.abs(v - returns)
    quadratic = tf.minimum(size, 1.0)
    return tf.reduce_mean(0.5 * quadratic**2 + (size - quadratic))


def tf_fixed(v: tf.Tensor, returns: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(0.5 * tf.square(v - returns))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {n: rng.normal(scale=2, size=(6, 2)).astype(np.float32) for n in ("v", "returns")}
