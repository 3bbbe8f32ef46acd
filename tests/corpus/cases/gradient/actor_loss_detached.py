"""The actor's loss cut off from the action."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "actor_loss_detached"
KIND = "gradient"
SUBJECT = "function"
TITLE = "The actor's loss cut off from the action"
SYMPTOM = "The actor's loss is right and its weights never move"
WHY = "stop_gradient was put around the critic's value, which is where the gradient comes from"
CAUSE = "stop-gradient-extra"
FIX = "Remove tf.stop_gradient from the actor's loss"
PLACE = "grad/action"


def torch_side(action: torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
    q = torch.tanh(action * direction).sum(-1)
    return -q.mean()


def tf_buggy(action: tf.Tensor, direction: tf.Tensor) -> tf.Tensor:
    q = tf.reduce_sum(tf.tanh(tf.stop_gradient(action) * direction), -1)
    return -tf.reduce_mean(q)


def tf_fixed(action: tf.Tensor, direction: tf.Tensor) -> tf.Tensor:
    q = tf.reduce_sum(tf.tanh(action * direction), -1)
    return -tf.reduce_mean(q)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(8, 2)).astype(np.float32) for name in ("action", "direction")}
