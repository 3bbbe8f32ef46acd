"""Padding given for the wrong axes."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "pad_order"
KIND = "resize"
SUBJECT = "function"
TITLE = "Padding given for the wrong axes"
SYMPTOM = "The picture sits in the wrong corner of its frame"
WHY = "F.pad lists the last axis first, tf.pad the first axis first"
CAUSE = "pair-order"
FIX = "tf.pad(image, [[0, 0], [1, 3], [2, 0]])"
PLACE = "output"


LEFT, RIGHT, TOP, BOTTOM = 2, 0, 1, 3


def torch_side(image: torch.Tensor) -> torch.Tensor:
    return F.pad(image, (LEFT, RIGHT, TOP, BOTTOM))[:, :8, :8]


def tf_buggy(image: tf.Tensor) -> tf.Tensor:
    return tf.pad(image, [[0, 0], [LEFT, RIGHT], [TOP, BOTTOM]])[:, :8, :8]


def tf_fixed(image: tf.Tensor) -> tf.Tensor:
    return tf.pad(image, [[0, 0], [TOP, BOTTOM], [LEFT, RIGHT]])[:, :8, :8]


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"image": np.random.default_rng(seed).normal(size=(3, 6, 6)).astype(np.float32)}
