"""Huber loss with another threshold."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "huber_delta"
KIND = "loss"
SUBJECT = "function"
TITLE = "Huber loss with another threshold"
SYMPTOM = "Agreement for small errors, a smaller loss for outliers"
WHY = "F.huber_loss was called with delta=1.5, the port kept 1.0"
CAUSE = "loss-constant|constant"
FIX = "keras.losses.huber(target, q, delta=1.5)"
PLACE = "output"


def torch_side(q: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.huber_loss(q, target, delta=1.5)


def tf_buggy(q: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return keras.losses.huber(target, q)


def tf_fixed(q: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return keras.losses.huber(target, q, delta=1.5)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(scale=2.0, size=17).astype(np.float32) for name in ("q", "target")}
