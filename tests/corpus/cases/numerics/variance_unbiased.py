"""A variance that divides by n instead of n - 1."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "variance_unbiased"
KIND = "numerics"
SUBJECT = "function"
TITLE = "A variance that divides by n instead of n - 1"
SYMPTOM = "Spreads are smaller by the factor (n - 1) / n"
WHY = "torch.var is unbiased unless told otherwise, tf.math.reduce_variance is not"
CAUSE = "ddof"
FIX = "torch.var(unbiased=False), or multiply by n / (n - 1)"
PLACE = "output"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return x.var(dim=0)


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return tf.math.reduce_variance(x, axis=0)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    n = x.shape[0]
    return tf.math.reduce_variance(x, axis=0) * n / (n - 1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(6, 4)).astype(np.float32)}
