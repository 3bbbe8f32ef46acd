"""Returns normalised by the biased standard deviation."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "normalised_with_population_std"
KIND = "returns"
SUBJECT = "function"
TITLE = "Returns normalised by the biased standard deviation"
SYMPTOM = "Everything is larger by the same factor, the smaller the batch the more"
WHY = "torch.std divides by n - 1, tf.math.reduce_std by n"
CAUSE = "ddof"
FIX = "tf.math.reduce_std(x) * tf.sqrt(n / (n - 1)), or x.std(unbiased=False) in torch"
PLACE = "output"


def torch_side(returns: torch.Tensor) -> torch.Tensor:
    return (returns - returns.mean()) / (returns.std() + 1e-8)


def tf_buggy(returns: tf.Tensor) -> tf.Tensor:
    return (returns - tf.reduce_mean(returns)) / (tf.math.reduce_std(returns) + 1e-8)


def tf_fixed(returns: tf.Tensor) -> tf.Tensor:
    n = returns.shape[0]
    std = tf.math.reduce_std(returns) * (n / (n - 1)) ** 0.5
    return (returns - tf.reduce_mean(returns)) / (std + 1e-8)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"returns": np.random.default_rng(seed).normal(2.0, 3.0, 11).astype(np.float32)}
