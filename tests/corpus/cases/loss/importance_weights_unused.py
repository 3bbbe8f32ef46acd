"""Importance weights accepted and not used."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "importance_weights_unused"
KIND = "loss"
SUBJECT = "function"
TITLE = "Importance weights accepted and not used"
SYMPTOM = "Prioritised replay is biased towards the surprising transitions"
WHY = "The weights of the sampled rows never reach the loss"
CAUSE = "missing-factor|weighted-mean"
FIX = "tf.reduce_mean(weight * tf.square(td_error))"
PLACE = "output"


def torch_side(td_error: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return (weight * td_error.square()).mean()


def tf_buggy(td_error: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.square(td_error))


def tf_fixed(td_error: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(weight * tf.square(td_error))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "td_error": rng.normal(size=12).astype(np.float32),
        "weight": rng.uniform(0.1, 1.0, size=12).astype(np.float32),
    }
