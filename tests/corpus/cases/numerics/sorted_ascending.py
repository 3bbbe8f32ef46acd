"""Sorted the other way round."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "sorted_ascending"
KIND = "numerics"
SUBJECT = "function"
TITLE = "Sorted the other way round"
SYMPTOM = "The best candidates are dropped and the worst kept"
WHY = "torch.sort was called with descending=True, tf.sort sorts upwards unless told otherwise"
CAUSE = "reversed-axis|switch"
FIX = 'tf.sort(score, direction="DESCENDING")'
PLACE = "output"


def torch_side(score: torch.Tensor) -> torch.Tensor:
    return torch.sort(score, dim=-1, descending=True).values[:, :3]


def tf_buggy(score: tf.Tensor) -> tf.Tensor:
    return tf.sort(score, axis=-1)[:, :3]


def tf_fixed(score: tf.Tensor) -> tf.Tensor:
    return tf.sort(score, axis=-1, direction="DESCENDING")[:, :3]


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"score": np.random.default_rng(seed).normal(size=(4, 7)).astype(np.float32)}
