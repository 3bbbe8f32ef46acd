"""Deep Q-learning on TensorFlow tensors: see ``spec.py`` for the contract."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from impls.arguments import require_dtype, require_reduction
from impls.losses import tf_impl as losses
from impls.value_losses.config import require_table


def chosen_value(q_tm1: Any, a_tm1: Any) -> Any:
    require_table({"a_tm1": a_tm1}, q_tm1=q_tm1)
    require_dtype("int64", a_tm1=a_tm1)
    return tf.gather(q_tm1, a_tm1, axis=1, batch_dims=1)


def dqn_target(r_t: Any, discount_t: Any, q_t: Any) -> Any:
    require_table({"r_t": r_t, "discount_t": discount_t}, q_t=q_t)
    return tf.stop_gradient(r_t + discount_t * tf.reduce_max(q_t, axis=1))


def double_dqn_target(r_t: Any, discount_t: Any, q_t: Any, selector_q_t: Any) -> Any:
    require_table({"r_t": r_t, "discount_t": discount_t}, q_t=q_t, selector_q_t=selector_q_t)
    best = tf.argmax(selector_q_t, axis=1, output_type=tf.int64)
    return tf.stop_gradient(r_t + discount_t * chosen_value(q_t, best))


def q_learning_loss(
    q_tm1: Any,
    a_tm1: Any,
    target: Any,
    *,
    weight: Any = None,
    delta: float = 1.0,
    reduction: str = "mean",
) -> Any:
    rows = {"a_tm1": a_tm1, "target": target}
    require_table(rows if weight is None else {**rows, "weight": weight}, q_tm1=q_tm1)
    chosen = chosen_value(q_tm1, a_tm1)
    each = losses.huber_loss(chosen, target, delta=delta, reduction="none")
    if weight is not None:
        each = tf.stop_gradient(weight) * each
    return _reduce(each, reduction)


def _reduce(rows: tf.Tensor, reduction: str) -> tf.Tensor:
    require_reduction(reduction)
    if reduction == "mean":
        return tf.reduce_mean(rows)
    if reduction == "sum":
        return tf.reduce_sum(rows)
    return rows
