"""The constant of the Gaussian log-likelihood left out."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
import torch
from torch.distributions import Normal

ID = "gaussian_constant_dropped"
KIND = "loss"
SUBJECT = "function"
TITLE = "The constant of the Gaussian log-likelihood left out"
SYMPTOM = "Gradients agree, reported log-probabilities are off by 0.92 per action"
WHY = (
    "0.5 * log(2 pi) drops out of the gradient, so it was dropped; thresholds on the value "
    "then mean something else"
)
CAUSE = "missing-term"
FIX = "-0.5 * z**2 - log_std - 0.5 * math.log(2 * math.pi)"
PLACE = "output"


def torch_side(mean: torch.Tensor, log_std: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
    return Normal(mean, log_std.exp()).log_prob(action).sum(-1)


def log_prob(mean: tf.Tensor, log_std: tf.Tensor, action: tf.Tensor, constant: float) -> tf.Tensor:
    z = (action - mean) * tf.exp(-log_std)
    return tf.reduce_sum(-0.5 * tf.square(z) - log_std - constant, axis=-1)


def tf_buggy(mean: tf.Tensor, log_std: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    return log_prob(mean, log_std, action, 0.0)


def tf_fixed(mean: tf.Tensor, log_std: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    return log_prob(mean, log_std, action, 0.5 * math.log(2.0 * math.pi))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "mean": rng.normal(size=(7, 2)).astype(np.float32),
        "log_std": rng.uniform(-1.5, 0.0, size=(7, 2)).astype(np.float32),
        "action": rng.normal(size=(7, 2)).astype(np.float32),
    }
