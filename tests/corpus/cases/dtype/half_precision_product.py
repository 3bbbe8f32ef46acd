"""A product computed in half precision."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "half_precision_product"
KIND = "dtype"
SUBJECT = "function"
TITLE = "A product computed in half precision"
SYMPTOM = "Three digits agree"
WHY = "Inputs are cast to float16 for speed and back again"
CAUSE = "half-precision"
FIX = "Leave out the casts"
PLACE = "output"


def torch_side(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w


def tf_buggy(x: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.cast(x, tf.float16) @ tf.cast(w, tf.float16), x.dtype)


def tf_fixed(x: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
    return x @ w


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "x": rng.normal(size=(5, 7)).astype(np.float32),
        "w": rng.normal(size=(7, 3)).astype(np.float32),
    }
