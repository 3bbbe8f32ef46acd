"""Losses in TensorFlow: see ``spec.py`` for the contract."""

from __future__ import annotations

import tensorflow as tf

from impls.losses.config import require_delta, require_reduction, require_vectors


def td_error(q_tm1: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    _require_vectors(q_tm1=q_tm1, target=target)
    return tf.stop_gradient(target) - q_tm1


def mse_loss(q_tm1: tf.Tensor, target: tf.Tensor, *, reduction: str = "mean") -> tf.Tensor:
    _require_vectors(q_tm1=q_tm1, target=target)
    return _reduce(tf.square(q_tm1 - tf.stop_gradient(target)), reduction)


def huber_loss(
    q_tm1: tf.Tensor, target: tf.Tensor, *, delta: float = 1.0, reduction: str = "mean"
) -> tf.Tensor:
    _require_vectors(q_tm1=q_tm1, target=target)
    require_delta(delta)
    error = q_tm1 - tf.stop_gradient(target)
    size = tf.abs(error)
    losses = tf.where(size <= delta, 0.5 * tf.square(error), delta * (size - 0.5 * delta))
    return _reduce(losses, reduction)


def twin_critic_loss(
    q1_tm1: tf.Tensor, q2_tm1: tf.Tensor, target: tf.Tensor, *, reduction: str = "mean"
) -> tf.Tensor:
    _require_vectors(q1_tm1=q1_tm1, q2_tm1=q2_tm1, target=target)
    y = tf.stop_gradient(target)
    return _reduce(tf.square(q1_tm1 - y) + tf.square(q2_tm1 - y), reduction)


def dpg_actor_loss(q_tm1: tf.Tensor, *, reduction: str = "mean") -> tf.Tensor:
    _require_vectors(q_tm1=q_tm1)
    return _reduce(-q_tm1, reduction)


def _reduce(losses: tf.Tensor, reduction: str) -> tf.Tensor:
    require_reduction(reduction)
    if reduction == "mean":
        return tf.reduce_mean(losses)
    if reduction == "sum":
        return tf.reduce_sum(losses)
    return losses


def _require_vectors(**arrays: tf.Tensor) -> None:
    require_vectors(
        {
            # a rank that is unknown while tracing cannot be refused
            name: [None] if array.shape.rank is None else array.shape.as_list()
            for name, array in arrays.items()
        },
        {name: array.dtype.name for name, array in arrays.items()},
    )
