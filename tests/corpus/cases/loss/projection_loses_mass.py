"""The mass of an atom that falls exactly on the grid is lost."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "projection_loses_mass"
KIND = "loss"
SUBJECT = "function"
TITLE = "The mass of an atom that falls exactly on the grid is lost"
SYMPTOM = "The projected distribution of a terminal transition does not sum to one"
WHY = "Where both atoms coincide both weights are zero; torch gives the lower one all"
CAUSE = "missing-term"
FIX = "lower_weight = (upper - b) + tf.cast(tf.equal(lower, upper), b.dtype)"
PLACE = "output"


ATOMS, V_MIN, V_MAX = 5, -2.0, 2.0
STEP = (V_MAX - V_MIN) / (ATOMS - 1)


def torch_side(
    probability: torch.Tensor, reward: torch.Tensor, discount: torch.Tensor
) -> torch.Tensor:
    support = torch.linspace(V_MIN, V_MAX, ATOMS, dtype=reward.dtype)
    target = (reward[:, None] + discount[:, None] * support).clamp(V_MIN, V_MAX)
    b = (target - V_MIN) / STEP
    lower, upper = b.floor(), b.ceil()
    same = (lower == upper).to(b.dtype)
    one_hot_lower = F.one_hot(lower.long(), ATOMS).to(b.dtype)
    one_hot_upper = F.one_hot(upper.long(), ATOMS).to(b.dtype)
    down = (probability * (upper - b + same))[..., None] * one_hot_lower
    up = (probability * (b - lower))[..., None] * one_hot_upper
    return (down + up).sum(1)


def project(
    probability: tf.Tensor, reward: tf.Tensor, discount: tf.Tensor, keep: bool
) -> tf.Tensor:
    support = tf.cast(tf.linspace(V_MIN, V_MAX, ATOMS), reward.dtype)
    target = tf.clip_by_value(reward[:, None] + discount[:, None] * support, V_MIN, V_MAX)
    b = (target - V_MIN) / STEP
    lower, upper = tf.floor(b), tf.math.ceil(b)
    weight = upper - b
    if keep:
        weight += tf.cast(tf.equal(lower, upper), b.dtype)
    one_hot_lower = tf.one_hot(tf.cast(lower, tf.int32), ATOMS, dtype=b.dtype)
    one_hot_upper = tf.one_hot(tf.cast(upper, tf.int32), ATOMS, dtype=b.dtype)
    down = (probability * weight)[..., None] * one_hot_lower
    up = (probability * (b - lower))[..., None] * one_hot_upper
    return tf.reduce_sum(down + up, axis=1)


def tf_buggy(probability: tf.Tensor, reward: tf.Tensor, discount: tf.Tensor) -> tf.Tensor:
    return project(probability, reward, discount, keep=False)


def tf_fixed(probability: tf.Tensor, reward: tf.Tensor, discount: tf.Tensor) -> tf.Tensor:
    return project(probability, reward, discount, keep=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "probability": rng.dirichlet(np.ones(ATOMS), size=4).astype(np.float32),
        "reward": np.array([1.0, 0.3, -1.0, 0.7], np.float32),
        "discount": np.array([0.0, 0.9, 0.0, 0.9], np.float32),
    }
