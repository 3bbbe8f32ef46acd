"""The temperature loss of SAC with alpha for log alpha."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "temperature_log_or_value"
KIND = "loss"
SUBJECT = "function"
TITLE = "The temperature loss of SAC with alpha for log alpha"
SYMPTOM = "The temperature moves at another speed, at another one again as it shrinks"
WHY = (
    "Most torch code multiplies log_alpha, the paper's formula has alpha; the gradients "
    "differ by the factor alpha"
)
CAUSE = "extra-operation|other-operand"
FIX = "-tf.reduce_mean(log_alpha * (log_prob + target_entropy))"
PLACE = "output"


TARGET = -3.0


def torch_side(log_alpha: torch.Tensor, log_prob: torch.Tensor) -> torch.Tensor:
    return -(log_alpha * (log_prob + TARGET).detach()).mean()


def tf_buggy(log_alpha: tf.Tensor, log_prob: tf.Tensor) -> tf.Tensor:
    return -tf.reduce_mean(tf.exp(log_alpha) * tf.stop_gradient(log_prob + TARGET))


def tf_fixed(log_alpha: tf.Tensor, log_prob: tf.Tensor) -> tf.Tensor:
    return -tf.reduce_mean(log_alpha * tf.stop_gradient(log_prob + TARGET))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "log_alpha": np.array([-1.6], np.float32),
        "log_prob": rng.normal(size=10).astype(np.float32),
    }
