"""The log standard deviation is not bounded."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "log_std_not_bounded"
KIND = "loss"
SUBJECT = "function"
TITLE = "The log standard deviation is not bounded"
SYMPTOM = "The first large log standard deviation makes the likelihood useless"
WHY = "The torch policy clamps it before the exponential; the port does not"
CAUSE = "clip-missing"
FIX = "log_std = tf.clip_by_value(log_std, -5.0, 2.0)"
PLACE = "output"


def torch_side(mean: torch.Tensor, log_std: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
    log_std = log_std.clamp(-5.0, 2.0)
    return torch.distributions.Normal(mean, log_std.exp()).log_prob(action).sum(-1)


def log_prob(mean: tf.Tensor, log_std: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    z = (action - mean) * tf.exp(-log_std)
    return tf.reduce_sum(-0.5 * z**2 - log_std - 0.5 * float(np.log(2 * np.pi)), axis=-1)


def tf_buggy(mean: tf.Tensor, log_std: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    return log_prob(mean, log_std, action)


def tf_fixed(mean: tf.Tensor, log_std: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    return log_prob(mean, tf.clip_by_value(log_std, -5.0, 2.0), action)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "mean": rng.normal(size=(5, 2)).astype(np.float32),
        "log_std": rng.normal(scale=3, size=(5, 2)).astype(np.float32),
        "action": rng.normal(size=(5, 2)).astype(np.float32),
    }
