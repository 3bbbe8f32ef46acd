"""The logarithm of the size, without the one."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "symlog_without_one"
KIND = "numerics"
SUBJECT = "function"
TITLE = "The logarithm of the size, without the one"
SYMPTOM = "Small values turn into large negative ones"
WHY = "symlog(x) is sign(x) * log(1 + |x|)"
CAUSE = "missing-term|other-function|constant"
FIX = "tf.sign(x) * tf.math.log1p(tf.abs(x))"
PLACE = "output"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return torch.sign(x) * torch.log1p(torch.abs(x))


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return tf.sign(x) * tf.math.log(tf.abs(x))


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return tf.sign(x) * tf.math.log1p(tf.abs(x))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(scale=3, size=(4, 3)).astype(np.float32)}
