"""The value of a state behind the end of the task."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "terminal_state_bootstrapped"
KIND = "returns"
SUBJECT = "function"
TITLE = "The value of a state behind the end of the task"
SYMPTOM = "Value estimates are too high, most near the end of an episode"
WHY = "The bootstrap is not multiplied by (1 - terminated)"
CAUSE = "mask-missing"
FIX = "reward + 0.98 * (1 - terminated) * next_value"
PLACE = "output"


def torch_side(
    reward: torch.Tensor, terminated: torch.Tensor, next_value: torch.Tensor
) -> torch.Tensor:
    return reward + 0.98 * torch.where(terminated, 0.0, next_value)


def tf_buggy(reward: tf.Tensor, terminated: tf.Tensor, next_value: tf.Tensor) -> tf.Tensor:
    return reward + 0.98 * next_value


def tf_fixed(reward: tf.Tensor, terminated: tf.Tensor, next_value: tf.Tensor) -> tf.Tensor:
    return reward + 0.98 * tf.where(terminated, tf.zeros_like(next_value), next_value)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "reward": rng.normal(size=9).astype(np.float32),
        "terminated": np.arange(9) % 4 == 3,
        "next_value": rng.normal(scale=5.0, size=9).astype(np.float32),
    }
