"""Ignored labels that count in the mean."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "ignore_index_counted"
KIND = "loss"
SUBJECT = "function"
TITLE = "Ignored labels that count in the mean"
SYMPTOM = "The more padding, the smaller the loss"
WHY = "cross_entropy(ignore_index=-100) averages over the other rows only"
CAUSE = "weighted-mean"
FIX = "Divide by the number of rows that are not ignored"
PLACE = "output"


def torch_side(logits: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits, label)


def masked(logits: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    kept = tf.cast(label >= 0, logits.dtype)
    each = keras.losses.sparse_categorical_crossentropy(
        tf.maximum(label, 0), logits, from_logits=True
    )
    return each * kept, kept


def tf_buggy(logits: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(masked(logits, label)[0])


def tf_fixed(logits: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    each, kept = masked(logits, label)
    return tf.reduce_sum(each) / tf.reduce_sum(kept)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 6, size=10)
    label[[2, 5, 9]] = -100
    return {"logits": rng.normal(size=(10, 6)).astype(np.float32), "label": label}
