"""Decibels from the natural logarithm."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
import torch

ID = "decibels_by_natural_log"
KIND = "numerics"
SUBJECT = "function"
TITLE = "Decibels from the natural logarithm"
SYMPTOM = "Everything is larger by 2.303"
WHY = "TensorFlow has no log10, and tf.math.log stood in for it"
CAUSE = "constant-factor|other-function"
FIX = "10.0 * tf.math.log(power) / math.log(10.0)"
PLACE = "output"


def torch_side(power: torch.Tensor) -> torch.Tensor:
    return 10.0 * torch.log10(power)


def tf_buggy(power: tf.Tensor) -> tf.Tensor:
    return 10.0 * tf.math.log(power)


def tf_fixed(power: tf.Tensor) -> tf.Tensor:
    return 10.0 * tf.math.log(power) / math.log(10.0)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"power": np.random.default_rng(seed).uniform(0.01, 5, (3, 6)).astype(np.float32)}
