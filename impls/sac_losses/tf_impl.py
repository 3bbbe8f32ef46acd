"""Losses of soft actor-critic on TensorFlow tensors: see ``spec.py`` for the contract."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from impls.arguments import require_floating, require_reduction
from impls.sac_losses.config import require_alpha, require_scalar, require_vectors


def soft_target(
    r_t: Any, discount_t: Any, q1_t: Any, q2_t: Any, log_prob_t: Any, *, alpha: Any
) -> Any:
    require_vectors(r_t=r_t, discount_t=discount_t, q1_t=q1_t, q2_t=q2_t, log_prob_t=log_prob_t)
    require_alpha(alpha)
    soft_value = tf.minimum(q1_t, q2_t) - alpha * log_prob_t
    return tf.stop_gradient(r_t + discount_t * soft_value)


def soft_critic_loss(q1_tm1: Any, q2_tm1: Any, target: Any, *, reduction: str = "mean") -> Any:
    require_vectors(q1_tm1=q1_tm1, q2_tm1=q2_tm1, target=target)
    y = tf.stop_gradient(target)
    losses = 0.5 * tf.square(q1_tm1 - y) + 0.5 * tf.square(q2_tm1 - y)
    return _reduce(losses, reduction)


def soft_actor_loss(log_prob: Any, q1: Any, q2: Any, *, alpha: Any, reduction: str = "mean") -> Any:
    require_vectors(log_prob=log_prob, q1=q1, q2=q2)
    require_alpha(alpha)
    # stop_gradient of a Python number would make it float32
    weight = tf.stop_gradient(alpha) if tf.is_tensor(alpha) else alpha
    # not minimum: which of two equal arguments gets the gradient differs by framework
    return _reduce(weight * log_prob - tf.where(q1 <= q2, q1, q2), reduction)


def temperature_loss(
    log_alpha: Any, log_prob: Any, *, target_entropy: float, reduction: str = "mean"
) -> Any:
    require_floating(log_alpha=log_alpha, log_prob=log_prob)
    require_scalar(log_alpha=log_alpha)
    require_vectors(log_prob=log_prob)
    excess = tf.stop_gradient(log_prob + target_entropy)
    return _reduce(-tf.exp(log_alpha) * excess, reduction)


def _reduce(losses: tf.Tensor, reduction: str) -> tf.Tensor:
    require_reduction(reduction)
    if reduction == "mean":
        return tf.reduce_mean(losses)
    if reduction == "sum":
        return tf.reduce_sum(losses)
    return losses
