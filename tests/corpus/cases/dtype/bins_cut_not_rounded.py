"""Bins found by cutting off in place of rounding."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "bins_cut_not_rounded"
KIND = "dtype"
SUBJECT = "function"
TITLE = "Bins found by cutting off in place of rounding"
SYMPTOM = "Every value falls half a bin too low"
WHY = "A cast to integers cuts off towards zero"
CAUSE = "integer-cast|rounding-mode|missing-operation"
FIX = "tf.cast(tf.round(x / 0.25), tf.int32)"
PLACE = "output"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return torch.round(x / 0.25).to(torch.int64) * 2


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return tf.cast(x / 0.25, tf.int64) * 2


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.round(x / 0.25), tf.int64) * 2


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=12).astype(np.float32)}
