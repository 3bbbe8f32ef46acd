"""Noise scaled by the variance instead of the deviation."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "variance_for_deviation"
KIND = "rng"
SUBJECT = "function"
TITLE = "Noise scaled by the variance instead of the deviation"
SYMPTOM = "Exploration is far too small for narrow policies"
WHY = "A normal's second argument is the deviation in one library and the variance in another"
CAUSE = "missing-operation|other-function"
FIX = "mean + tf.sqrt(variance) * noise"
PLACE = "output"


def torch_side(mean: torch.Tensor, variance: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    return mean + variance.sqrt() * noise


def tf_buggy(mean: tf.Tensor, variance: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
    return mean + variance * noise


def tf_fixed(mean: tf.Tensor, variance: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
    return mean + tf.sqrt(variance) * noise


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "mean": rng.normal(size=(5, 2)).astype(np.float32),
        "variance": rng.uniform(0.05, 0.6, size=(5, 2)).astype(np.float32),
        "noise": rng.normal(size=(5, 2)).astype(np.float32),
    }
