"""The mask multiplied onto the scores instead of replacing them."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "mask_multiplied"
KIND = "attention"
SUBJECT = "function"
TITLE = "The mask multiplied onto the scores instead of replacing them"
SYMPTOM = "Padding still receives attention, as much as a score of 0 is worth"
WHY = "exp(0) is 1: a masked score must be very negative, not zero"
CAUSE = "mask-multiplied|other-operation"
FIX = "tf.where(keep, scores, -1e9)"
PLACE = "output"


def torch_side(scores: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    return torch.softmax(scores.masked_fill(~keep, -1e9), dim=-1)


def tf_buggy(scores: tf.Tensor, keep: tf.Tensor) -> tf.Tensor:
    return tf.nn.softmax(scores * tf.cast(keep, scores.dtype))


def tf_fixed(scores: tf.Tensor, keep: tf.Tensor) -> tf.Tensor:
    return tf.nn.softmax(tf.where(keep, scores, tf.constant(-1e9, scores.dtype)))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    keep = np.arange(7) < np.array([[7], [4], [5]])
    return {"scores": rng.normal(size=(3, 7)).astype(np.float32), "keep": keep}
