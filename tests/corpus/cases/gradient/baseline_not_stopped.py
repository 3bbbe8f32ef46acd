"""The policy loss trains the baseline."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "baseline_not_stopped"
KIND = "gradient"
SUBJECT = "function"
TITLE = "The policy loss trains the baseline"
SYMPTOM = "The value function chases the policy loss"
WHY = "The advantage is a constant for the policy gradient"
CAUSE = "stop-gradient-missing"
FIX = "advantage = tf.stop_gradient(returns - value)"
PLACE = "grad/value"


def torch_side(log_prob: torch.Tensor, value: torch.Tensor, returns: torch.Tensor) -> torch.Tensor:
    advantage = (returns - value).detach()
    return -(log_prob * advantage).mean() + 0.5 * (returns - value).square().mean()


def tf_buggy(log_prob: tf.Tensor, value: tf.Tensor, returns: tf.Tensor) -> tf.Tensor:
    advantage = returns - value
    return -tf.reduce_mean(log_prob * advantage) + 0.5 * tf.reduce_mean(tf.square(returns - value))


def tf_fixed(log_prob: tf.Tensor, value: tf.Tensor, returns: tf.Tensor) -> tf.Tensor:
    advantage = tf.stop_gradient(returns - value)
    return -tf.reduce_mean(log_prob * advantage) + 0.5 * tf.reduce_mean(tf.square(returns - value))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {n: rng.normal(size=8).astype(np.float32) for n in ("log_prob", "value", "returns")}
