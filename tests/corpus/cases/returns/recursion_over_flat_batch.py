"""A return computed over a flattened batch."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "recursion_over_flat_batch"
KIND = "returns"
SUBJECT = "function"
TITLE = "A return computed over a flattened batch"
SYMPTOM = "Environments borrow rewards from one another"
WHY = (
    "[T, B] was flattened before the recursion, so that the last step of one environment is "
    "followed by the first of the next"
)
CAUSE = "flattened-axes|axis-order|reduction-axis"
FIX = "Keep [T, B] and run the recursion over axis 0"
PLACE = "output"


GAMMA = 0.9


def torch_side(reward: torch.Tensor) -> torch.Tensor:
    total, found = torch.zeros_like(reward[0]), []
    for t in reversed(range(len(reward))):
        total = reward[t] + GAMMA * total
        found.insert(0, total)
    return torch.stack(found)


def to_go(reward: tf.Tensor) -> tf.Tensor:
    total, found = tf.zeros_like(reward[0]), []
    for t in reversed(range(reward.shape[0])):
        total = reward[t] + GAMMA * total
        found.insert(0, total)
    return tf.stack(found)


def tf_buggy(reward: tf.Tensor) -> tf.Tensor:
    flat = tf.reshape(tf.transpose(reward), [-1])
    return tf.transpose(tf.reshape(to_go(flat), reward.shape[::-1]))


def tf_fixed(reward: tf.Tensor) -> tf.Tensor:
    return to_go(reward)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"reward": np.random.default_rng(seed).normal(size=(6, 4)).astype(np.float32)}
