"""A large step counter held in float32."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "counter_in_float32"
KIND = "dtype"
SUBJECT = "function"
TITLE = "A large step counter held in float32"
SYMPTOM = "A schedule that stops moving after 16.7 million steps"
WHY = "float32 cannot tell 2^24 from 2^24 + 1"
CAUSE = "float32-inside"
FIX = "tf.cast(step, tf.float64)"
PLACE = "output"
FLOAT64 = False


def torch_side(step: torch.Tensor) -> torch.Tensor:
    return torch.remainder(step.double() / 8, 1.0).float()


def tf_buggy(step: tf.Tensor) -> tf.Tensor:
    return tf.math.floormod(tf.cast(step, tf.float32) / 8, 1.0)


def tf_fixed(step: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.math.floormod(tf.cast(step, tf.float64) / 8, 1.0), tf.float32)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"step": 2**24 + 10 * seed + np.arange(7)}
