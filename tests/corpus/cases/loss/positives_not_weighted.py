"""The weight of the positive targets is left out."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "positives_not_weighted"
KIND = "loss"
SUBJECT = "function"
TITLE = "The weight of the positive targets is left out"
SYMPTOM = "The rare event is never predicted, though both losses fall"
WHY = "torch's pos_weight multiplies the term of the positive targets; Keras's losses have none"
CAUSE = "class-weight"
FIX = "tf.nn.weighted_cross_entropy_with_logits(labels, logits, pos_weight)"
PLACE = "output"


POSITIVE = 6.0


def torch_side(logits: torch.Tensor, ended: torch.Tensor) -> torch.Tensor:
    weight = torch.tensor(POSITIVE, dtype=logits.dtype)
    return F.binary_cross_entropy_with_logits(logits, ended, pos_weight=weight)


def tf_buggy(logits: tf.Tensor, ended: tf.Tensor) -> tf.Tensor:
    each = tf.nn.sigmoid_cross_entropy_with_logits(labels=ended, logits=logits)
    return tf.reduce_mean(each)


def tf_fixed(logits: tf.Tensor, ended: tf.Tensor) -> tf.Tensor:
    weight = tf.constant(POSITIVE, logits.dtype)
    return tf.reduce_mean(tf.nn.weighted_cross_entropy_with_logits(ended, logits, weight))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    ended = (rng.random(size=(12, 3)) < 0.3).astype(np.float32)
    ended[0, 0] = 1.0
    return {"logits": rng.normal(size=(12, 3)).astype(np.float32), "ended": ended}
