"""A time limit treated as the end of the task."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "truncation_taken_for_end"
KIND = "returns"
SUBJECT = "function"
TITLE = "A time limit treated as the end of the task"
SYMPTOM = "Values near the time limit are too low, and the agent hurries"
WHY = "The bootstrap is dropped at truncation; only termination ends the future"
CAUSE = "mask-other"
FIX = "discount = gamma * (1 - terminated)"
PLACE = "output"


def torch_side(
    reward: torch.Tensor, terminated: torch.Tensor, truncated: torch.Tensor, value: torch.Tensor
) -> torch.Tensor:
    return reward + 0.99 * (~terminated).to(reward.dtype) * value


def tf_buggy(
    reward: tf.Tensor, terminated: tf.Tensor, truncated: tf.Tensor, value: tf.Tensor
) -> tf.Tensor:
    ended = tf.logical_or(terminated, truncated)
    return reward + 0.99 * (1.0 - tf.cast(ended, reward.dtype)) * value


def tf_fixed(
    reward: tf.Tensor, terminated: tf.Tensor, truncated: tf.Tensor, value: tf.Tensor
) -> tf.Tensor:
    return reward + 0.99 * (1.0 - tf.cast(terminated, reward.dtype)) * value


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "reward": rng.normal(size=10).astype(np.float32),
        "terminated": np.arange(10) % 4 == 1,
        "truncated": np.arange(10) % 5 == 3,
        "value": rng.normal(scale=4.0, size=10).astype(np.float32),
    }
