"""A mean over time that includes the padding."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "mean_over_padding"
KIND = "pooling"
SUBJECT = "function"
TITLE = "A mean over time that includes the padding"
SYMPTOM = "Short sequences are pulled towards zero"
WHY = "The port divides by the length of the array instead of the length of the sequence"
CAUSE = "mask-missing|weighted-mean"
FIX = "tf.reduce_sum(x * mask, 1) / tf.reduce_sum(mask, 1)"
PLACE = "output"


def torch_side(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    weight = mask.to(x.dtype)[..., None]
    return (x * weight).sum(1) / weight.sum(1)


def tf_buggy(x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(x * tf.cast(mask, x.dtype)[..., None], axis=1)


def tf_fixed(x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    weight = tf.cast(mask, x.dtype)[..., None]
    return tf.reduce_sum(x * weight, axis=1) / tf.reduce_sum(weight, axis=1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    mask = np.arange(6) < np.array([[6], [3], [4], [1]])
    x = np.random.default_rng(seed).normal(size=(4, 6, 3)).astype(np.float32)
    return {"x": x, "mask": mask}
