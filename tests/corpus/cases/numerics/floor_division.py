"""Integer division rounded down instead of towards zero."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "floor_division"
KIND = "numerics"
SUBJECT = "function"
TITLE = "Integer division rounded down instead of towards zero"
SYMPTOM = "Negative coordinates land in the neighbouring cell"
WHY = 'rounding_mode="trunc" on the torch side, // in TensorFlow rounds down'
CAUSE = "division|rounding-mode"
FIX = "tf.truncatediv(x, 4)"
PLACE = "output"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return torch.div(x, 4, rounding_mode="trunc")


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return x // 4


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return tf.truncatediv(x, tf.constant(4, x.dtype))


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).permutation(np.arange(-9, 10))}
