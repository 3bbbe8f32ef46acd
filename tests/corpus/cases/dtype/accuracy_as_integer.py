"""An accuracy that is 0 or 1."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "accuracy_as_integer"
KIND = "dtype"
SUBJECT = "function"
TITLE = "An accuracy that is 0 or 1"
SYMPTOM = "The accuracy stays at 0 until it is perfect"
WHY = "The mean of integers is an integer"
CAUSE = "integer-cast"
FIX = "tf.reduce_mean(tf.cast(hit, tf.float32))"
PLACE = "output"


def torch_side(logits: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    return (logits.argmax(1) == label).to(logits.dtype).mean()


def tf_buggy(logits: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    hit = tf.cast(tf.equal(tf.argmax(logits, axis=1), label), tf.int32)
    return tf.cast(tf.reduce_mean(hit), logits.dtype)


def tf_fixed(logits: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    hit = tf.cast(tf.equal(tf.argmax(logits, axis=1), label), logits.dtype)
    return tf.reduce_mean(hit)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(8, 3)).astype(np.float32)
    label = logits.argmax(1)
    label[:3] = (label[:3] + 1) % 3
    return {"logits": logits, "label": label}
