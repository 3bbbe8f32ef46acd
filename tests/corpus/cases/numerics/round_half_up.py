"""Halves rounded up instead of to the even neighbour."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "round_half_up"
KIND = "numerics"
SUBJECT = "function"
TITLE = "Halves rounded up instead of to the even neighbour"
SYMPTOM = "Quantised values differ by one step, for exact halves only"
WHY = "torch.round rounds 2.5 to 2, floor(x + 0.5) to 3"
CAUSE = "rounding-mode"
FIX = "tf.round(x)"
PLACE = "output"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return torch.round(x)


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return tf.floor(x + 0.5)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return tf.round(x)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": (rng.permutation(15) * 0.5 - 3.5).astype(np.float32)}
