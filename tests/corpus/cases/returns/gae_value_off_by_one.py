"""Advantages that bootstrap from the same step's value."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "gae_value_off_by_one"
KIND = "returns"
SUBJECT = "function"
TITLE = "Advantages that bootstrap from the same step's value"
SYMPTOM = "Advantages have roughly the right size and no relation to the actions"
WHY = "delta = r + gamma * v[t + 1] - v[t]; the port uses v[t] twice"
CAUSE = "off-by-one|other-operand"
FIX = "r + 0.95 * v[1:] - v[:-1]"
PLACE = "output"


def torch_side(r: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return r + 0.95 * v[1:] - v[:-1]


def tf_buggy(r: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return r + 0.95 * v[:-1] - v[:-1]


def tf_fixed(r: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return r + 0.95 * v[1:] - v[:-1]


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "r": rng.normal(size=(6, 5)).astype(np.float32),
        "v": rng.normal(size=(7, 5)).astype(np.float32),
    }
