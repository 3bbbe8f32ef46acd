"""Rewards stored as integers."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "reward_truncated"
KIND = "dtype"
SUBJECT = "function"
TITLE = "Rewards stored as integers"
SYMPTOM = "Rewards between -1 and 1 are all zero"
WHY = "The buffer's dtype was taken from the action's"
CAUSE = "integer-cast"
FIX = "tf.cast(reward, tf.float32)"
PLACE = "output"


def torch_side(reward: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return reward + 0.9 * value


def tf_buggy(reward: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    stored = tf.cast(reward, tf.int32)
    return tf.cast(stored, value.dtype) + 0.9 * value


def tf_fixed(reward: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    return reward + 0.9 * value


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "reward": rng.normal(scale=2.0, size=11).astype(np.float32),
        "value": rng.normal(size=11).astype(np.float32),
    }
