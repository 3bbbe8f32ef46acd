"""Rows that occur twice are overwritten, not added."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "duplicates_overwritten"
KIND = "numerics"
SUBJECT = "function"
TITLE = "Rows that occur twice are overwritten, not added"
SYMPTOM = "Sums per group are too small where a group has several members"
WHY = "tensor_scatter_nd_update keeps one value per index, index_add sums them"
CAUSE = "other-operation"
FIX = "tf.tensor_scatter_nd_add(tf.zeros(4), index[:, None], x)"
PLACE = "output"


def torch_side(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return torch.zeros(4, dtype=x.dtype).index_add(0, index, x)


def tf_buggy(x: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
    return tf.tensor_scatter_nd_update(tf.zeros(4, x.dtype), index[:, None], x)


def tf_fixed(x: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
    return tf.tensor_scatter_nd_add(tf.zeros(4, x.dtype), index[:, None], x)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=7).astype(np.float32), "index": np.array([0, 2, 2, 1, 0, 3, 2])}
