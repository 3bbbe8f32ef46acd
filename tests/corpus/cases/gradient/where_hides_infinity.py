"""A where that hides a logarithm of zero, but not its gradient."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "where_hides_infinity"
KIND = "gradient"
SUBJECT = "function"
TITLE = "A where that hides a logarithm of zero, but not its gradient"
SYMPTOM = "The loss is finite, the weights are NaN after the first step"
WHY = "0 times the infinite derivative of the branch not taken is NaN"
CAUSE = "nan-gradient"
FIX = "safe = tf.where(p > 0, p, 1.0); tf.where(p > 0, p * tf.math.log(safe), 0.0)"
PLACE = "grad/p"


def torch_side(p: torch.Tensor) -> torch.Tensor:
    safe = torch.where(p > 0, p, torch.ones_like(p))
    return torch.where(p > 0, p * safe.log(), torch.zeros_like(p)).sum(-1)


def tf_buggy(p: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.where(p > 0, p * tf.math.log(p), tf.zeros_like(p)), -1)


def tf_fixed(p: tf.Tensor) -> tf.Tensor:
    safe = tf.where(p > 0, p, tf.ones_like(p))
    return tf.reduce_sum(tf.where(p > 0, p * tf.math.log(safe), tf.zeros_like(p)), -1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    p = np.random.default_rng(seed).dirichlet(np.ones(4), size=5)
    p[1] = (0.0, 0.25, 0.75, 0.0)
    return {"p": p.astype(np.float32)}
