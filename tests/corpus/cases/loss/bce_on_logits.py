"""Logits handed to a loss that expects probabilities."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "bce_on_logits"
KIND = "loss"
SUBJECT = "function"
TITLE = "Logits handed to a loss that expects probabilities"
SYMPTOM = "The loss is clipped, flat or NaN; accuracy stays at chance"
WHY = "binary_cross_entropy_with_logits became a cross-entropy with from_logits left at False"
CAUSE = "logits-probabilities"
FIX = "keras.losses.binary_crossentropy(labels, logits, from_logits=True)"
PLACE = "output"


def torch_side(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return F.binary_cross_entropy_with_logits(logits, labels)


def tf_buggy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    return keras.losses.binary_crossentropy(labels, logits)


def tf_fixed(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    return keras.losses.binary_crossentropy(labels, logits, from_logits=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = (rng.random(12) < 0.4).astype(np.float32)
    return {"logits": rng.normal(size=12).astype(np.float32), "labels": labels}
