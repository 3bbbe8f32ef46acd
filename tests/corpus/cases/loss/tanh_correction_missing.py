"""The log-probability of a squashed action without the correction for tanh."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "tanh_correction_missing"
KIND = "loss"
SUBJECT = "function"
TITLE = "The log-probability of a squashed action without the correction for tanh"
SYMPTOM = "Entropy is overestimated and the temperature runs to zero"
WHY = "log pi(a) = log N(u) - sum log(1 - tanh(u)^2)"
CAUSE = "missing-term"
FIX = "log_prob -= tf.reduce_sum(tf.math.log(1.0 - tf.square(tf.tanh(u)) + 1e-6), -1)"
PLACE = "output"


def torch_side(u: torch.Tensor, log_prob: torch.Tensor) -> dict[str, torch.Tensor]:
    correction = torch.log(1 - torch.tanh(u).pow(2) + 1e-6).sum(-1)
    return {"action": torch.tanh(u), "log_prob": log_prob - correction}


def tf_buggy(u: tf.Tensor, log_prob: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"action": tf.tanh(u), "log_prob": tf.identity(log_prob)}


def tf_fixed(u: tf.Tensor, log_prob: tf.Tensor) -> dict[str, tf.Tensor]:
    correction = tf.reduce_sum(tf.math.log(1 - tf.square(tf.tanh(u)) + 1e-6), -1)
    return {"action": tf.tanh(u), "log_prob": log_prob - correction}


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "u": rng.normal(size=(5, 3)).astype(np.float32),
        "log_prob": rng.normal(size=5).astype(np.float32),
    }
