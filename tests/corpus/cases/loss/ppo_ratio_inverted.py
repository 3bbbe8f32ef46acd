"""The probability ratio upside down."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "ppo_ratio_inverted"
KIND = "loss"
SUBJECT = "function"
TITLE = "The probability ratio upside down"
SYMPTOM = (
    "The first update after collecting agrees, since every ratio is 1; later ones go the wrong way"
)
WHY = "exp(old - new) for exp(new - old)"
CAUSE = "operand-order|argument-order"
FIX = "tf.exp(new_log_prob - old_log_prob)"
PLACE = "output"


def torch_side(
    new_log_prob: torch.Tensor, old_log_prob: torch.Tensor, advantage: torch.Tensor
) -> torch.Tensor:
    return -(torch.exp(new_log_prob - old_log_prob) * advantage).mean()


def tf_buggy(new_log_prob: tf.Tensor, old_log_prob: tf.Tensor, advantage: tf.Tensor) -> tf.Tensor:
    return -tf.reduce_mean(tf.exp(old_log_prob - new_log_prob) * advantage)


def tf_fixed(new_log_prob: tf.Tensor, old_log_prob: tf.Tensor, advantage: tf.Tensor) -> tf.Tensor:
    return -tf.reduce_mean(tf.exp(new_log_prob - old_log_prob) * advantage)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    names = ("new_log_prob", "old_log_prob", "advantage")
    return {name: rng.normal(size=8).astype(np.float32) for name in names}
