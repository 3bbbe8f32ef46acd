"""A masked loss divided by the padded length."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "masked_mean_denominator"
KIND = "loss"
SUBJECT = "function"
TITLE = "A masked loss divided by the padded length"
SYMPTOM = "Batches with short sequences hardly train"
WHY = "The sum over valid steps is divided by all steps"
CAUSE = "weighted-mean"
FIX = "tf.reduce_sum(loss * mask) / tf.reduce_sum(mask)"
PLACE = "output"


def torch_side(error: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
    mask = valid.to(error.dtype)
    return (error.square() * mask).sum() / mask.sum()


def tf_buggy(error: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.square(error) * tf.cast(valid, error.dtype))


def tf_fixed(error: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
    mask = tf.cast(valid, error.dtype)
    return tf.reduce_sum(tf.square(error) * mask) / tf.reduce_sum(mask)


def inputs(seed: int) -> dict[str, np.ndarray]:
    valid = np.arange(8)[:, None] < np.array([[8, 3, 5]])
    error = np.random.default_rng(seed).normal(size=(8, 3)).astype(np.float32)
    return {"error": error, "valid": valid}
