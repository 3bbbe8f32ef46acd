"""A variance over two axes taken one axis after the other."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "variance_in_two_steps"
KIND = "numerics"
SUBJECT = "function"
TITLE = "A variance over two axes taken one axis after the other"
SYMPTOM = "Style losses are far too small"
WHY = "The variance of variances is not the variance of everything"
CAUSE = "nested-variance"
FIX = "tf.math.reduce_variance(x, axis=[1, 2])"
PLACE = "output"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return x.var(dim=(1, 2), unbiased=False)


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return tf.math.reduce_variance(tf.math.reduce_variance(x, axis=1), axis=1)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return tf.math.reduce_variance(x, axis=[1, 2])


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(3, 5, 6)).astype(np.float32)}
