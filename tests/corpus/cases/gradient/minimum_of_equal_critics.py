"""The gradient of a minimum of two equal values."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "minimum_of_equal_critics"
KIND = "gradient"
SUBJECT = "function"
TITLE = "The gradient of a minimum of two equal values"
SYMPTOM = "Two critics that start alike are trained unequally"
WHY = "torch.minimum gives each half of the gradient, tf.minimum everything to its first argument"
CAUSE = "tie-gradient"
FIX = "0.5 * (tf.minimum(q1, q2) + tf.minimum(q2, q1))"
PLACE = "grad/q1"


def torch_side(q1: torch.Tensor, q2: torch.Tensor) -> torch.Tensor:
    return torch.minimum(q1, q2)


def tf_buggy(q1: tf.Tensor, q2: tf.Tensor) -> tf.Tensor:
    return tf.minimum(q1, q2)


def tf_fixed(q1: tf.Tensor, q2: tf.Tensor) -> tf.Tensor:
    return 0.5 * (tf.minimum(q1, q2) + tf.minimum(q2, q1))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    q1 = rng.normal(size=9).astype(np.float32)
    q2 = np.where(np.arange(9) % 3 == 0, q1, rng.normal(size=9)).astype(np.float32)
    return {"q1": q1, "q2": q2}
