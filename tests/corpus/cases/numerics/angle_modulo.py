"""Angles wrapped by the other modulo."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
import torch

ID = "angle_modulo"
KIND = "numerics"
SUBJECT = "function"
TITLE = "Angles wrapped by the other modulo"
SYMPTOM = "Negative angles are off by a full turn"
WHY = "torch.fmod keeps the sign of the angle, TensorFlow's % that of the divisor"
CAUSE = "modulo"
FIX = "torch.remainder on the torch side, or tf.truncatemod, which has no gradient, by hand"
PLACE = "output"


def torch_side(angle: torch.Tensor) -> torch.Tensor:
    return torch.fmod(angle, 2 * math.pi)


def tf_buggy(angle: tf.Tensor) -> tf.Tensor:
    return angle % (2 * math.pi)


def tf_fixed(angle: tf.Tensor) -> tf.Tensor:
    turns = tf.cast(tf.cast(angle / (2 * math.pi), tf.int32), angle.dtype)
    return angle - 2 * math.pi * turns


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"angle": np.random.default_rng(seed).uniform(-9, 9, size=12).astype(np.float32)}
