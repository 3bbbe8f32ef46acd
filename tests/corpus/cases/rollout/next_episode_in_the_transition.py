"""The next episode's first observation stored as the last one's successor."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "next_episode_in_the_transition"
KIND = "rollout"
SUBJECT = "function"
TITLE = "The next episode's first observation stored as the last one's successor"
SYMPTOM = "Values at the end of an episode leak into the next one"
WHY = "Vector environments reset by themselves; the true last observation is in the info"
CAUSE = "mask-missing|other-operand"
FIX = "tf.where(done[:, None], final_observation, next_observation)"
PLACE = "output"


def torch_side(
    next_observation: torch.Tensor, final_observation: torch.Tensor, done: torch.Tensor
) -> torch.Tensor:
    return torch.where(done[:, None], final_observation, next_observation)


def tf_buggy(
    next_observation: tf.Tensor, final_observation: tf.Tensor, done: tf.Tensor
) -> tf.Tensor:
    return tf.identity(next_observation)


def tf_fixed(
    next_observation: tf.Tensor, final_observation: tf.Tensor, done: tf.Tensor
) -> tf.Tensor:
    return tf.where(done[:, None], final_observation, next_observation)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "next_observation": rng.normal(size=(7, 3)).astype(np.float32),
        "final_observation": rng.normal(size=(7, 3)).astype(np.float32),
        "done": np.arange(7) % 3 == 1,
    }
