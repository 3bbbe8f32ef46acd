"""NaN at the same places on both sides."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "nan_in_the_same_places"
KIND = "control"
SUBJECT = "function"
TITLE = "NaN at the same places on both sides"
WHY = (
    "The logarithm of a negative number is NaN in every framework; both sides say so for the "
    "same elements"
)


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return torch.log(x)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return tf.math.log(x)


def inputs(seed: int) -> dict[str, np.ndarray]:
    x = np.random.default_rng(seed).uniform(0.1, 2.0, size=(4, 3))
    x[1, 1] = x[3, 0] = -1.0
    return {"x": x.astype(np.float32)}
