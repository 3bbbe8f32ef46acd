"""Frequencies are counted from one instead of zero."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
import torch

ID = "frequencies_from_one"
KIND = "numerics"
SUBJECT = "function"
TITLE = "Frequencies are counted from one instead of zero"
SYMPTOM = "The first feature is not constant; all others are one frequency too high"
WHY = "torch.arange(n) became tf.range(1, n + 1)"
CAUSE = "off-by-one"
FIX = "tf.range(0.0, n)"
PLACE = "output"


COUNT = 6


def torch_side(share: torch.Tensor) -> torch.Tensor:
    return torch.sin(share[:, None] * torch.arange(COUNT, dtype=share.dtype) * math.pi)


def tf_buggy(share: tf.Tensor) -> tf.Tensor:
    return tf.sin(share[:, None] * tf.range(1, COUNT + 1, dtype=share.dtype) * math.pi)


def tf_fixed(share: tf.Tensor) -> tf.Tensor:
    return tf.sin(share[:, None] * tf.range(0, COUNT, dtype=share.dtype) * math.pi)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"share": np.random.default_rng(seed).random(size=9).astype(np.float32)}
