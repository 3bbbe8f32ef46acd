"""PPO's clipped objective with max instead of min."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "ppo_max_for_min"
KIND = "loss"
SUBJECT = "function"
TITLE = "PPO's clipped objective with max instead of min"
SYMPTOM = "The clip never bites and the policy takes huge steps"
WHY = "The pessimistic bound is the smaller of the two terms"
CAUSE = "other-operation"
FIX = "-tf.reduce_mean(tf.minimum(ratio * advantage, clipped * advantage))"
PLACE = "output"


CLIP = 0.2


def torch_side(new: torch.Tensor, old: torch.Tensor, advantage: torch.Tensor) -> torch.Tensor:
    ratio = torch.exp(new - old)
    clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
    return -torch.min(ratio * advantage, clipped * advantage).mean()


def tf_buggy(new: tf.Tensor, old: tf.Tensor, advantage: tf.Tensor) -> tf.Tensor:
    ratio = tf.exp(new - old)
    clipped = tf.clip_by_value(ratio, 1 - CLIP, 1 + CLIP)
    return -tf.reduce_mean(tf.maximum(ratio * advantage, clipped * advantage))


def tf_fixed(new: tf.Tensor, old: tf.Tensor, advantage: tf.Tensor) -> tf.Tensor:
    ratio = tf.exp(new - old)
    clipped = tf.clip_by_value(ratio, 1 - CLIP, 1 + CLIP)
    # by hand: where both are equal torch shares the gradient, tf.minimum does not
    return -tf.reduce_mean(
        tf.where(ratio * advantage <= clipped * advantage, ratio, clipped) * advantage
    )


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    old = rng.normal(size=15)
    new = old + rng.choice([-0.5, -0.4, 0.5, 0.6], 15)
    advantage = rng.normal(size=15)
    arrays = {"new": new, "old": old, "advantage": advantage}
    return {name: value.astype(np.float32) for name, value in arrays.items()}
