"""A logarithm where the standard deviation was meant."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
import torch
from torch.distributions import Normal

ID = "std_taken_for_log_std"
KIND = "loss"
SUBJECT = "function"
TITLE = "A logarithm where the standard deviation was meant"
SYMPTOM = "Densities are wrong by orders of magnitude for narrow policies"
WHY = "The network already returns the standard deviation; the port exponentiates it once more"
CAUSE = "extra-operation"
FIX = "Divide by std, not by tf.exp(std)"
PLACE = "output"


def torch_side(mean: torch.Tensor, std: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
    return Normal(mean, std).log_prob(action)


def density(mean: tf.Tensor, std: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    z = (action - mean) / std
    return -0.5 * tf.square(z) - tf.math.log(std) - 0.5 * math.log(2 * math.pi)


def tf_buggy(mean: tf.Tensor, std: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    return density(mean, tf.exp(std), action)


def tf_fixed(mean: tf.Tensor, std: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    return density(mean, std, action)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "mean": rng.normal(size=(4, 3)).astype(np.float32),
        "std": rng.uniform(0.2, 0.9, size=(4, 3)).astype(np.float32),
        "action": rng.normal(size=(4, 3)).astype(np.float32),
    }
