"""Label smoothing left out."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "label_smoothing_missing"
KIND = "loss"
SUBJECT = "function"
TITLE = "Label smoothing left out"
SYMPTOM = "The loss is lower and training more confident"
WHY = "label_smoothing=0.1 is an argument of the torch loss and nobody ported it"
CAUSE = "label-smoothing"
FIX = (
    "keras.losses.categorical_crossentropy(one_hot, logits, from_logits=True, label_smoothing=0.1)"
)
PLACE = "output"


def torch_side(logits: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits, label, label_smoothing=0.1)


def loss(logits: tf.Tensor, label: tf.Tensor, smoothing: float) -> tf.Tensor:
    one_hot = tf.one_hot(label, logits.shape[-1], dtype=logits.dtype)
    return tf.reduce_mean(
        keras.losses.categorical_crossentropy(
            one_hot, logits, from_logits=True, label_smoothing=smoothing
        )
    )


def tf_buggy(logits: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    return loss(logits, label, 0.0)


def tf_fixed(logits: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    return loss(logits, label, 0.1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "logits": rng.normal(size=(7, 4)).astype(np.float32),
        "label": rng.integers(0, 4, size=7),
    }
