"""The expectile weighs the wrong side."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "expectile_reversed"
KIND = "loss"
SUBJECT = "function"
TITLE = "The expectile weighs the wrong side"
SYMPTOM = "The value function tends to the pessimistic end in place of the optimistic one"
WHY = "tau belongs to positive errors, 1 - tau to negative ones"
CAUSE = "complement|comparison|argument-order"
FIX = "weight = tf.where(error > 0, TAU, 1.0 - TAU)"
PLACE = "output"


TAU = 0.7


def torch_side(q: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    error = q - v
    weight = (TAU - (error < 0).to(error.dtype)).abs()
    return (weight * error.square()).mean()


def expectile(q: tf.Tensor, v: tf.Tensor, tau: float) -> tf.Tensor:
    error = q - v
    weight = tf.where(error > 0, tf.constant(tau, error.dtype), tf.constant(1.0 - tau, error.dtype))
    return tf.reduce_mean(weight * tf.square(error))


def tf_buggy(q: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return expectile(q, v, 1.0 - TAU)


def tf_fixed(q: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return expectile(q, v, TAU)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {n: rng.normal(size=9).astype(np.float32) for n in ("q", "v")}
