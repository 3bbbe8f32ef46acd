"""A variance by cancellation."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "ill_conditioned_variance"
KIND = "control"
SUBJECT = "function"
TITLE = "A variance by cancellation"
WHY = "mean(x^2) - mean(x)^2 loses all digits at a large mean: float32 differs, float64 does not"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return x.square().mean(-1) - x.mean(-1).square()


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.square(x), -1) - tf.square(tf.reduce_mean(x, -1))


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(300.0, 1.0, (5, 33)).astype(np.float32)}
