"""Log-probabilities averaged over the action's dimensions."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "log_prob_averaged"
KIND = "loss"
SUBJECT = "function"
TITLE = "Log-probabilities averaged over the action's dimensions"
SYMPTOM = "Ratios are too close to 1 and entropies too small, by the number of action dimensions"
WHY = "Independent dimensions multiply, so their logarithms add up"
CAUSE = "loss-reduction|reduction-axis"
FIX = "tf.reduce_sum(log_prob, axis=-1)"
PLACE = "output"


def torch_side(z: torch.Tensor, log_std: torch.Tensor) -> torch.Tensor:
    return (-0.5 * z.square() - log_std).sum(-1)


def tf_buggy(z: tf.Tensor, log_std: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(-0.5 * tf.square(z) - log_std, axis=-1)


def tf_fixed(z: tf.Tensor, log_std: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(-0.5 * tf.square(z) - log_std, axis=-1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "z": rng.normal(size=(6, 4)).astype(np.float32),
        "log_std": rng.uniform(-1, 0, size=4).astype(np.float32),
    }
