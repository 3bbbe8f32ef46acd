"""The importance ratio of a trace is not capped."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "trace_ratio_not_capped"
KIND = "returns"
SUBJECT = "function"
TITLE = "The importance ratio of a trace is not capped"
SYMPTOM = "Targets explode as soon as the policies part"
WHY = "min(1, rho) was left out"
CAUSE = "clip-missing"
FIX = "rho = tf.minimum(1.0, tf.exp(log_rho))"
PLACE = "output"


def torch_side(
    log_rho: torch.Tensor, reward: torch.Tensor, value: torch.Tensor, next_value: torch.Tensor
) -> torch.Tensor:
    rho = log_rho.exp().clamp(max=1.0)
    return value + rho * (reward + 0.9 * next_value - value)


def tf_buggy(
    log_rho: tf.Tensor, reward: tf.Tensor, value: tf.Tensor, next_value: tf.Tensor
) -> tf.Tensor:
    return value + tf.exp(log_rho) * (reward + 0.9 * next_value - value)


def tf_fixed(
    log_rho: tf.Tensor, reward: tf.Tensor, value: tf.Tensor, next_value: tf.Tensor
) -> tf.Tensor:
    rho = tf.minimum(tf.exp(log_rho), 1.0)
    return value + rho * (reward + 0.9 * next_value - value)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        n: rng.normal(size=10).astype(np.float32)
        for n in ("log_rho", "reward", "value", "next_value")
    }
