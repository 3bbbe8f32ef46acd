"""Epsilon-greedy with the comparison turned round."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "exploring_when_it_should_not"
KIND = "rng"
SUBJECT = "function"
TITLE = "Epsilon-greedy with the comparison turned round"
SYMPTOM = "The agent acts at random 95 per cent of the time"
WHY = "Explore where the draw is below epsilon, not above it"
CAUSE = "comparison"
FIX = "tf.where(draw < EPSILON, random_action, greedy)"
PLACE = "output"


EPSILON = 0.25


def torch_side(q: torch.Tensor, draw: torch.Tensor, random_action: torch.Tensor) -> torch.Tensor:
    return torch.where(draw < EPSILON, random_action, q.argmax(1))


def tf_buggy(q: tf.Tensor, draw: tf.Tensor, random_action: tf.Tensor) -> tf.Tensor:
    return tf.where(draw > EPSILON, random_action, tf.argmax(q, 1))


def tf_fixed(q: tf.Tensor, draw: tf.Tensor, random_action: tf.Tensor) -> tf.Tensor:
    return tf.where(draw < EPSILON, random_action, tf.argmax(q, 1))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "q": rng.normal(size=(12, 4)).astype(np.float32),
        "draw": rng.uniform(size=12).astype(np.float32),
        "random_action": rng.integers(0, 4, size=12),
    }
