"""Nearest-neighbour resizing that picks other neighbours."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "nearest_rounding"
KIND = "resize"
SUBJECT = "function"
TITLE = "Nearest-neighbour resizing that picks other neighbours"
SYMPTOM = "Whole factors agree; at 5 to 7 some rows come from the neighbour"
WHY = "torch's 'nearest' floors i * scale, TensorFlow samples at the centres of the new pixels"
CAUSE = "resize-convention|switch"
FIX = (
    'F.interpolate(..., mode="nearest-exact") on the torch side, or tf.gather with floored indices'
)
PLACE = "output"


SIZE = (7, 8)


def torch_side(image: torch.Tensor) -> torch.Tensor:
    return F.interpolate(image.permute(0, 3, 1, 2), size=SIZE, mode="nearest").permute(0, 2, 3, 1)


def tf_buggy(image: tf.Tensor) -> tf.Tensor:
    resized = tf.image.resize(image, SIZE, method="nearest")
    return tf.cast(resized, image.dtype)


def tf_fixed(image: tf.Tensor) -> tf.Tensor:
    for axis, size in zip((1, 2), SIZE, strict=True):
        image = tf.gather(image, np.arange(size) * image.shape[axis] // size, axis=axis)
    return image


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"image": np.random.default_rng(seed).uniform(size=(2, 5, 6, 3)).astype(np.float32)}
