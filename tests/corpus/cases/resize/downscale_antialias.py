"""Downscaling with a filter on one side and without on the other."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "downscale_antialias"
KIND = "resize"
SUBJECT = "function"
TITLE = "Downscaling with a filter on one side and without on the other"
SYMPTOM = "Thumbnails are sharper and full of aliasing on one side"
WHY = "antialias=True widens the kernel when shrinking; both frameworks leave it off unless asked"
CAUSE = "resize-convention|switch"
FIX = 'tf.image.resize(image, size, method="bilinear", antialias=True)'
PLACE = "output"
FLOAT64 = False


SIZE = (4, 5)


def torch_side(image: torch.Tensor) -> torch.Tensor:
    moved = image.permute(0, 3, 1, 2)
    small = F.interpolate(moved, size=SIZE, mode="bilinear", antialias=True)
    return small.permute(0, 2, 3, 1)


def tf_buggy(image: tf.Tensor) -> tf.Tensor:
    return tf.image.resize(image, SIZE, method="bilinear")


def tf_fixed(image: tf.Tensor) -> tf.Tensor:
    return tf.image.resize(image, SIZE, method="bilinear", antialias=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"image": np.random.default_rng(seed).uniform(size=(2, 11, 12, 3)).astype(np.float32)}
