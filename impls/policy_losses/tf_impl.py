"""Policy losses on TensorFlow tensors: see ``spec.py`` for the contract."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from impls.arguments import require_reduction, require_rows
from impls.policy_losses.config import (
    require_coefficient,
    require_ratio_clip,
    require_value_clip,
)


def policy_gradient_loss(log_prob: Any, advantage: Any, *, reduction: str = "mean") -> Any:
    require_rows(log_prob=log_prob, advantage=advantage)
    return _reduce(-log_prob * tf.stop_gradient(advantage), reduction)


def entropy_loss(entropy: Any, *, coefficient: Any = 0.01, reduction: str = "mean") -> Any:
    require_rows(entropy=entropy)
    require_coefficient(coefficient)
    return -coefficient * _reduce(entropy, reduction)


def value_loss(v_tm1: Any, target: Any, *, reduction: str = "mean") -> Any:
    require_rows(v_tm1=v_tm1, target=target)
    return _reduce(0.5 * tf.square(v_tm1 - tf.stop_gradient(target)), reduction)


def clipped_value_loss(
    v_tm1: Any, old_v_tm1: Any, target: Any, *, clip: float = 0.2, reduction: str = "mean"
) -> Any:
    require_rows(v_tm1=v_tm1, old_v_tm1=old_v_tm1, target=target)
    require_value_clip(clip)
    old, goal = tf.stop_gradient(old_v_tm1), tf.stop_gradient(target)
    change = v_tm1 - old
    moved = old + tf.where(tf.abs(change) <= clip, change, clip * tf.sign(change))
    free, clipped = tf.square(v_tm1 - goal), tf.square(moved - goal)
    return _reduce(0.5 * tf.where(free >= clipped, free, clipped), reduction)


def clipped_surrogate_loss(
    log_prob: Any,
    old_log_prob: Any,
    advantage: Any,
    *,
    clip: float = 0.2,
    reduction: str = "mean",
) -> Any:
    require_rows(log_prob=log_prob, old_log_prob=old_log_prob, advantage=advantage)
    require_ratio_clip(clip)
    ratio = tf.exp(log_prob - tf.stop_gradient(old_log_prob))
    gain = tf.stop_gradient(advantage)
    free, clipped = ratio * gain, tf.clip_by_value(ratio, 1.0 - clip, 1.0 + clip) * gain
    # not minimum: which of two equal arguments gets the gradient differs by framework
    return _reduce(-tf.where(free <= clipped, free, clipped), reduction)


def _reduce(losses: tf.Tensor, reduction: str) -> tf.Tensor:
    require_reduction(reduction)
    if reduction == "mean":
        return tf.reduce_mean(losses)
    if reduction == "sum":
        return tf.reduce_sum(losses)
    return losses
