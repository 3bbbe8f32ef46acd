"""Importance weights divided by their sum instead of their maximum."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "importance_weights_by_sum"
KIND = "returns"
SUBJECT = "function"
TITLE = "Importance weights divided by their sum instead of their maximum"
SYMPTOM = "Steps are smaller by a factor of the batch size"
WHY = "The largest weight should be 1, not the sum"
CAUSE = "other-operation|normalisation"
FIX = "w / tf.reduce_max(w)"
PLACE = "output"


def torch_side(probability: torch.Tensor) -> torch.Tensor:
    w = (512 * probability).pow(-0.6)
    return w / w.max()


def tf_buggy(probability: tf.Tensor) -> tf.Tensor:
    w = tf.pow(512 * probability, -0.6)
    return w / tf.reduce_sum(w)


def tf_fixed(probability: tf.Tensor) -> tf.Tensor:
    w = tf.pow(512 * probability, -0.6)
    return w / tf.reduce_max(w)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"probability": rng.uniform(0.001, 0.02, 10).astype(np.float32)}
