"""The return runs on through the end of an episode."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "returns_cross_episodes"
KIND = "returns"
SUBJECT = "function"
TITLE = "The return runs on through the end of an episode"
SYMPTOM = "Returns near an end contain the rewards of the next episode"
WHY = "The running sum is multiplied by gamma only, not by the mask"
CAUSE = "mask-missing"
FIX = "running = reward[t] + gamma * running * (1 - terminated[t])"
PLACE = "output"


def torch_side(
    reward: torch.Tensor, terminated: torch.Tensor, last_value: torch.Tensor
) -> torch.Tensor:
    running, found = last_value, []
    for r, end in zip(reward.flip(0), terminated.flip(0), strict=True):
        running = r + 0.95 * running * (1 - end)
        found.append(running)
    return torch.stack(found[::-1])


def tf_buggy(reward: tf.Tensor, terminated: tf.Tensor, last_value: tf.Tensor) -> tf.Tensor:
    running, found = last_value, []
    for t in range(reward.shape[0] - 1, -1, -1):
        running = reward[t] + 0.95 * running
        found.append(running)
    return tf.stack(found[::-1])


def tf_fixed(reward: tf.Tensor, terminated: tf.Tensor, last_value: tf.Tensor) -> tf.Tensor:
    running, found = last_value, []
    for t in range(reward.shape[0] - 1, -1, -1):
        running = reward[t] + 0.95 * running * (1 - terminated[t])
        found.append(running)
    return tf.stack(found[::-1])


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    terminated = np.zeros(8, np.float32)
    terminated[4] = 1
    return {
        "reward": rng.normal(size=8).astype(np.float32),
        "terminated": terminated,
        "last_value": np.float32(0.7),
    }
