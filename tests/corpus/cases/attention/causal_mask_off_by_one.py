"""A causal mask that also hides the present."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "causal_mask_off_by_one"
KIND = "attention"
SUBJECT = "function"
TITLE = "A causal mask that also hides the present"
SYMPTOM = "The first row is NaN or uniform, later rows lag one step behind"
WHY = "The diagonal belongs to the visible part"
CAUSE = "off-by-one|mask-other"
FIX = "tf.linalg.band_part(tf.ones_like(scores), -1, 0) > 0"
PLACE = "output"


def torch_side(scores: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    hidden = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(hidden, -1e9), -1) @ v


def causal(scores: tf.Tensor, v: tf.Tensor, visible: tf.Tensor) -> tf.Tensor:
    low = tf.constant(-1e9, scores.dtype)
    return tf.matmul(tf.nn.softmax(tf.where(visible, scores, low)), v)


def tf_buggy(scores: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    lower = tf.linalg.band_part(tf.ones_like(scores), -1, 0)
    strictly = lower - tf.linalg.band_part(tf.ones_like(scores), 0, 0)
    return causal(scores, v, strictly > 0)


def tf_fixed(scores: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return causal(scores, v, tf.linalg.band_part(tf.ones_like(scores), -1, 0) > 0)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "scores": rng.normal(size=(2, 5, 5)).astype(np.float32),
        "v": rng.normal(size=(2, 5, 3)).astype(np.float32),
    }
