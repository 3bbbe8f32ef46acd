"""Pixels left between 0 and 255."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "pixels_not_scaled"
KIND = "dtype"
SUBJECT = "function"
TITLE = "Pixels left between 0 and 255"
SYMPTOM = "The first layer saturates; everything else is right"
WHY = "The division by 255 was part of the torch transform"
CAUSE = "constant-factor"
FIX = "tf.cast(frame, tf.float32) / 255.0"
PLACE = "output"
FLOAT64 = False


def torch_side(frame: torch.Tensor) -> torch.Tensor:
    return frame.float() / 255.0


def tf_buggy(frame: tf.Tensor) -> tf.Tensor:
    return tf.cast(frame, tf.float32)


def tf_fixed(frame: tf.Tensor) -> tf.Tensor:
    return tf.cast(frame, tf.float32) / 255.0


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"frame": rng.integers(0, 256, size=(3, 4, 6)).astype(np.uint8)}
