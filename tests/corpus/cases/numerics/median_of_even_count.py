"""The median of an even number of values."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "median_of_even_count"
KIND = "numerics"
SUBJECT = "function"
TITLE = "The median of an even number of values"
SYMPTOM = "Scores agree for odd batches and not for even ones"
WHY = "torch.median returns the lower of the two in the middle, most other code their mean"
CAUSE = "median"
FIX = "tf.sort(x)[..., (n - 1) // 2]"
PLACE = "output"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return x.median(dim=-1).values


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    ordered, n = tf.sort(x, axis=-1), x.shape[-1]
    return 0.5 * (ordered[..., (n - 1) // 2] + ordered[..., n // 2])


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return tf.sort(x, axis=-1)[..., (x.shape[-1] - 1) // 2]


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(5, 8)).astype(np.float32)}
