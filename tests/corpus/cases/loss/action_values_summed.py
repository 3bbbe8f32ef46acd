"""The value of the taken action summed over the whole batch."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "action_values_summed"
KIND = "loss"
SUBJECT = "function"
TITLE = "The value of the taken action summed over the whole batch"
SYMPTOM = "The loss is enormous and does not depend on which row erred"
WHY = "reduce_sum without an axis turns [B, actions] into one number"
CAUSE = "reduction-axis"
FIX = "tf.reduce_sum(q * one_hot, axis=1)"
PLACE = "output"


def torch_side(q: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
    return q.gather(1, action[:, None]).squeeze(1).mean()


def tf_buggy(q: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    one_hot = tf.one_hot(action, q.shape[-1], dtype=q.dtype)
    return tf.reduce_mean(tf.reduce_sum(q * one_hot))


def tf_fixed(q: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    one_hot = tf.one_hot(action, q.shape[-1], dtype=q.dtype)
    return tf.reduce_mean(tf.reduce_sum(q * one_hot, axis=1))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "q": rng.normal(size=(9, 4)).astype(np.float32),
        "action": rng.integers(0, 4, size=9),
    }
