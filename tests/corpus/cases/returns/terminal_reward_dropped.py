"""The reward of the last step masked together with the bootstrap."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "terminal_reward_dropped"
KIND = "returns"
SUBJECT = "function"
TITLE = "The reward of the last step masked together with the bootstrap"
SYMPTOM = "Goals are never rewarded; the value of the winning move is 0"
WHY = "(reward + gamma * v) * (1 - terminated) zeroes both terms"
CAUSE = "mask-extra"
FIX = "reward + gamma * (1 - terminated) * v"
PLACE = "output"


def torch_side(reward: torch.Tensor, end: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return reward + 0.9 * (1 - end.to(v.dtype)) * v


def tf_buggy(reward: tf.Tensor, end: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return (reward + 0.9 * v) * (1 - tf.cast(end, v.dtype))


def tf_fixed(reward: tf.Tensor, end: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return reward + 0.9 * (1 - tf.cast(end, v.dtype)) * v


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "reward": rng.normal(size=11).astype(np.float32),
        "end": np.arange(11) % 4 == 2,
        "v": rng.normal(size=11).astype(np.float32),
    }
