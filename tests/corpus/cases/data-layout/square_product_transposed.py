"""A square matrix multiplied from the other side."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "square_product_transposed"
KIND = "data-layout"
SUBJECT = "function"
TITLE = "A square matrix multiplied from the other side"
SYMPTOM = "Rotations turn the other way"
WHY = "F.linear(x, w) is x @ w.T; the port multiplies by w itself, and the matrix is square"
CAUSE = "axis-order|switch|transposed"
FIX = "tf.matmul(x, w, transpose_b=True)"
PLACE = "output"


def torch_side(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return F.linear(x, w)


def tf_buggy(x: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
    return tf.matmul(x, w)


def tf_fixed(x: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
    return tf.matmul(x, w, transpose_b=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "x": rng.normal(size=(6, 3)).astype(np.float32),
        "w": rng.normal(size=(3, 3)).astype(np.float32),
    }
