"""A wrong discount and a gradient through the target."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "target_and_gradient"
KIND = "stacked"
SUBJECT = "function"
TITLE = "A wrong discount and a gradient through the target"
SYMPTOM = "The loss is slightly off, its gradient entirely"
WHY = "Two faults in one line: 0.9 for 0.95, and no stop_gradient"
CAUSE = ("constant|discount", "stop-gradient-missing")
FIX = "tf.stop_gradient(reward + 0.95 * next_value)"
PLACE = ("output", "grad/next_value")


def torch_side(value: torch.Tensor, reward: torch.Tensor, next_value: torch.Tensor) -> torch.Tensor:
    target = (reward + 0.95 * next_value).detach()
    return (value - target).square().mean()


def tf_buggy(value: tf.Tensor, reward: tf.Tensor, next_value: tf.Tensor) -> tf.Tensor:
    target = reward + 0.9 * next_value
    return tf.reduce_mean(tf.square(value - target))


def tf_fixed(value: tf.Tensor, reward: tf.Tensor, next_value: tf.Tensor) -> tf.Tensor:
    target = tf.stop_gradient(reward + 0.95 * next_value)
    return tf.reduce_mean(tf.square(value - target))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    names = ("value", "reward", "next_value")
    return {name: rng.normal(size=9).astype(np.float32) for name in names}
