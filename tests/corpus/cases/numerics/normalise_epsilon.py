"""Vectors normalised with epsilon on the square."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "normalise_epsilon"
KIND = "numerics"
SUBJECT = "function"
TITLE = "Vectors normalised with epsilon on the square"
SYMPTOM = "Short vectors come out shorter than one"
WHY = "F.normalize bounds the norm by 1e-3, tf.math.l2_normalize the squared norm"
CAUSE = "epsilon-value|epsilon-placement"
FIX = "tf.math.l2_normalize(x, axis=-1, epsilon=1e-3**2)"
PLACE = "output"


EPSILON = 1e-3


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return F.normalize(x, dim=-1, eps=EPSILON)


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return tf.math.l2_normalize(x, axis=-1, epsilon=EPSILON)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return tf.math.l2_normalize(x, axis=-1, epsilon=EPSILON**2)


def inputs(seed: int) -> dict[str, np.ndarray]:
    length = np.array([[1.0], [1e-2], [4e-3], [2.0], [5e-3], [1e-2]])
    x = np.random.default_rng(seed).normal(size=(6, 4)) * length
    return {"x": x.astype(np.float32)}
