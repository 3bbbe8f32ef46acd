"""Dropout by hand without rescaling."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "dropout_not_rescaled"
KIND = "rng"
SUBJECT = "function"
TITLE = "Dropout by hand without rescaling"
SYMPTOM = "Activations are smaller in training than in evaluation"
WHY = "What is kept must be divided by the probability to be kept"
CAUSE = "constant-factor|missing-operation"
FIX = "x * mask / 0.75"
PLACE = "output"


def torch_side(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return x * mask.to(x.dtype) / 0.75


def tf_buggy(x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    return x * tf.cast(mask, x.dtype)


def tf_fixed(x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    return x * tf.cast(mask, x.dtype) / 0.75


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(6, 5)).astype(np.float32), "mask": rng.random((6, 5)) < 0.75}
