"""Every row takes the actions of all rows."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "gather_without_batch_dims"
KIND = "loss"
SUBJECT = "function"
TITLE = "Every row takes the actions of all rows"
SYMPTOM = "The loss falls, but to a wrong place; the gathered values have one axis too many"
WHY = "tf.gather(q, action, axis=1) picks all actions in every row; batch_dims=1 picks one per row"
CAUSE = "switch|silent-broadcast"
FIX = "tf.gather(q, action, axis=1, batch_dims=1)"
PLACE = "output"


def torch_side(q: torch.Tensor, action: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    taken = q.gather(1, action[:, None]).squeeze(1)
    return (taken - target).square().mean()


def tf_buggy(q: tf.Tensor, action: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.square(tf.gather(q, action, axis=1) - target))


def tf_fixed(q: tf.Tensor, action: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.square(tf.gather(q, action, axis=1, batch_dims=1) - target))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "q": rng.normal(size=(6, 3)).astype(np.float32),
        "action": rng.integers(0, 3, size=6),
        "target": rng.normal(size=6).astype(np.float32),
    }
