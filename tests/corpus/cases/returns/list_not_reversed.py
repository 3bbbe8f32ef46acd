"""Returns collected backwards and left that way."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "list_not_reversed"
KIND = "returns"
SUBJECT = "function"
TITLE = "Returns collected backwards and left that way"
SYMPTOM = "The first step gets the last step's return"
WHY = "The loop runs from the end and appends; the list has to be turned round"
CAUSE = "reversed-axis|reversed-time"
FIX = "tf.stack(found[::-1])"
PLACE = "output"


GAMMA = 0.85


def torch_side(reward: torch.Tensor) -> torch.Tensor:
    found, total = [], torch.zeros_like(reward[0])
    for r in reward.flip(0):
        total = r + GAMMA * total
        found.append(total)
    return torch.stack(found[::-1])


def collected(reward: tf.Tensor) -> list[tf.Tensor]:
    found, total = [], tf.zeros_like(reward[0])
    for r in tf.unstack(reward)[::-1]:
        total = r + GAMMA * total
        found.append(total)
    return found


def tf_buggy(reward: tf.Tensor) -> tf.Tensor:
    return tf.stack(collected(reward))


def tf_fixed(reward: tf.Tensor) -> tf.Tensor:
    return tf.stack(collected(reward)[::-1])


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"reward": np.random.default_rng(seed).normal(size=(8, 3)).astype(np.float32)}
