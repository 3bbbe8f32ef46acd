"""The pairwise matrix of a quantile loss the wrong way round."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "quantiles_transposed"
KIND = "loss"
SUBJECT = "function"
TITLE = "The pairwise matrix of a quantile loss the wrong way round"
SYMPTOM = "Quantile estimates come out in reverse order or collapse"
WHY = (
    "error[i, j] = target j - estimate i; the port has target i - estimate j, and the weights"
    " belong to i"
)
CAUSE = "axis-order|other-operand|operand-order"
FIX = "target[:, None, :] - estimate[:, :, None]"
PLACE = "output"


N = 5


def torch_side(estimate: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    error = target[:, None, :] - estimate[:, :, None]
    fraction = (torch.arange(N, dtype=estimate.dtype) + 0.5) / N
    weight = (fraction[:, None] - (error.detach() < 0).to(estimate.dtype)).abs()
    size = F.huber_loss(error, torch.zeros_like(error), reduction="none")
    return (weight * size).mean(2).sum(1).mean()


def quantile_loss(estimate: tf.Tensor, error: tf.Tensor) -> tf.Tensor:
    fraction = (tf.range(N, dtype=estimate.dtype) + 0.5) / N
    weight = tf.abs(fraction[:, None] - tf.cast(error < 0, estimate.dtype))
    size = tf.abs(error)
    huber = tf.where(size <= 1.0, 0.5 * tf.square(error), size - 0.5)
    return tf.reduce_mean(tf.reduce_sum(tf.reduce_mean(tf.stop_gradient(weight) * huber, 2), 1))


def tf_buggy(estimate: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return quantile_loss(estimate, target[:, :, None] - estimate[:, None, :])


def tf_fixed(estimate: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return quantile_loss(estimate, target[:, None, :] - estimate[:, :, None])


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(7, N)).astype(np.float32) for name in ("estimate", "target")}
