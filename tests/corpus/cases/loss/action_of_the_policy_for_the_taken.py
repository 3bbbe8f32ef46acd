"""The gradient follows the greedy action in place of the one taken."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "action_of_the_policy_for_the_taken"
KIND = "loss"
SUBJECT = "function"
TITLE = "The gradient follows the greedy action in place of the one taken"
SYMPTOM = "The policy becomes deterministic within a few updates"
WHY = "log_prob must be that of the stored action"
CAUSE = "other-operand|argument-order"
FIX = "tf.gather(log_p, action, axis=1, batch_dims=1)"
PLACE = "output"


def torch_side(logits: torch.Tensor, action: torch.Tensor, advantage: torch.Tensor) -> torch.Tensor:
    log_p = torch.log_softmax(logits, -1).gather(1, action[:, None]).squeeze(1)
    return -(log_p * advantage).mean()


def loss(logits: tf.Tensor, action: tf.Tensor, advantage: tf.Tensor) -> tf.Tensor:
    log_p = tf.gather(tf.nn.log_softmax(logits), action, axis=1, batch_dims=1)
    return -tf.reduce_mean(log_p * advantage)


def tf_buggy(logits: tf.Tensor, action: tf.Tensor, advantage: tf.Tensor) -> tf.Tensor:
    return loss(logits, tf.argmax(logits, axis=1), advantage)


def tf_fixed(logits: tf.Tensor, action: tf.Tensor, advantage: tf.Tensor) -> tf.Tensor:
    return loss(logits, action, advantage)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "logits": rng.normal(size=(7, 3)).astype(np.float32),
        "action": rng.integers(0, 3, size=7),
        "advantage": rng.normal(size=7).astype(np.float32),
    }
