"""A cumulative sum that leaves out the current element."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "cumulative_exclusive"
KIND = "numerics"
SUBJECT = "function"
TITLE = "A cumulative sum that leaves out the current element"
SYMPTOM = "Everything lags one step behind"
WHY = "exclusive=True, or a shift by one, came with the copied snippet"
CAUSE = "off-by-one|switch"
FIX = "tf.cumsum(x, axis=0)"
PLACE = "output"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return x.cumsum(0)


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return tf.cumsum(x, axis=0, exclusive=True)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return tf.cumsum(x, axis=0)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(9, 2)).astype(np.float32)}
