"""The mean is taken before the square."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "mean_squared_before_difference"
KIND = "loss"
SUBJECT = "function"
TITLE = "The mean is taken before the square"
SYMPTOM = "The penalty is far too small: positive and negative errors cancel"
WHY = "mean(x)**2 is not mean(x**2)"
CAUSE = "operation-order"
FIX = "tf.reduce_mean(tf.square(x - y))"
PLACE = "output"


def torch_side(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x - y).pow(2).mean()


def tf_buggy(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.square(tf.reduce_mean(x - y))


def tf_fixed(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.square(x - y))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {n: rng.normal(size=(5, 3)).astype(np.float32) for n in ("x", "y")}
