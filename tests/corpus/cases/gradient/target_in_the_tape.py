"""The bootstrapped target receives a gradient."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "target_in_the_tape"
KIND = "gradient"
SUBJECT = "function"
TITLE = "The bootstrapped target receives a gradient"
SYMPTOM = "The loss agrees to the last digit, the updates do not, and values drift upwards"
WHY = "torch computes the target under no_grad, the port inside the tape"
CAUSE = "stop-gradient-missing"
FIX = "target = tf.stop_gradient(reward + 0.97 * next_q)"
PLACE = "grad/next_q|grad/reward"


def torch_side(q: torch.Tensor, next_q: torch.Tensor, reward: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        target = reward + 0.97 * next_q
    return (q - target).square().mean()


def tf_buggy(q: tf.Tensor, next_q: tf.Tensor, reward: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.square(q - (reward + 0.97 * next_q)))


def tf_fixed(q: tf.Tensor, next_q: tf.Tensor, reward: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.square(q - tf.stop_gradient(reward + 0.97 * next_q)))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=10).astype(np.float32) for name in ("q", "next_q", "reward")}
