"""Probabilities for logits, then a broadcast, then a factor of two."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "training_step_three_faults"
KIND = "stacked"
SUBJECT = "function"
TITLE = "Probabilities for logits, then a broadcast, then a factor of two"
SYMPTOM = "The loss is wrong in three ways at once, and each repair leaves it wrong"
WHY = (
    "The cross-entropy takes logits for probabilities, its column meets a vector of weights, "
    "and the half is missing"
)
CAUSE = ("logits-probabilities", "silent-broadcast", "factor-two|constant-factor")
FIX = "from_logits=True; tf.squeeze(logits, -1); 0.5 * the mean"
PLACE = ("output", "output", "output")


def torch_side(logits: torch.Tensor, label: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    each = F.binary_cross_entropy_with_logits(logits.squeeze(-1), label, reduction="none")
    return 0.5 * (weight * each).mean()


def tf_buggy(logits: tf.Tensor, label: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
    each = keras.ops.binary_crossentropy(label[:, None], logits)
    return tf.reduce_mean(weight * each)


def tf_fixed(logits: tf.Tensor, label: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
    each = keras.ops.binary_crossentropy(label, tf.squeeze(logits, -1), from_logits=True)
    return 0.5 * tf.reduce_mean(weight * each)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "logits": rng.normal(size=(11, 1)).astype(np.float32),
        "label": (rng.random(11) < 0.5).astype(np.float32),
        "weight": rng.uniform(0.2, 2.0, size=11).astype(np.float32),
    }
