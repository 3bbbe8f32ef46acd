"""A reward dropped at the end of an episode, in data without an end."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "terminal_reward_dropped_hidden"
KIND = "returns"
SUBJECT = "function"
TITLE = "A reward dropped at the end of an episode, in data without an end"
SYMPTOM = "The test batch agrees: it happens to hold no terminal row"
WHY = "The reward is multiplied by (1 - terminated), which is 1 in every row of the batch"
CAUSE = "mask-extra"
FIX = "reward + gamma * (1 - terminated) * v; and test with a terminal row"
PLACE = "output"
HIDDEN = True


def torch_side(reward: torch.Tensor, end: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return reward + 0.96 * (1 - end.to(v.dtype)) * v


def tf_buggy(reward: tf.Tensor, end: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    going = 1 - tf.cast(end, v.dtype)
    return going * reward + 0.96 * going * v


def tf_fixed(reward: tf.Tensor, end: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return reward + 0.96 * (1 - tf.cast(end, v.dtype)) * v


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "reward": rng.normal(size=7).astype(np.float32),
        "end": np.zeros(7, bool),
        "v": rng.normal(size=7).astype(np.float32),
    }


def revealing(seed: int) -> dict[str, np.ndarray]:
    arrays = inputs(seed)
    arrays["end"][[1, 4]] = True
    return arrays
