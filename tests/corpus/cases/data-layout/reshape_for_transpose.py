"""Channels moved with a reshape."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "reshape_for_transpose"
KIND = "data-layout"
SUBJECT = "function"
TITLE = "Channels moved with a reshape"
SYMPTOM = "Images look like shredded copies of themselves; shapes are right"
WHY = "A reshape keeps the order in memory, so pixels and channels are mixed"
CAUSE = "reshape-for-transpose|reshape-not-transpose"
FIX = "tf.transpose(image, [0, 2, 3, 1])"
PLACE = "output"


def torch_side(image: torch.Tensor) -> torch.Tensor:
    return image.permute(0, 2, 3, 1)


def tf_buggy(image: tf.Tensor) -> tf.Tensor:
    b, c, h, w = image.shape
    return tf.reshape(image, [b, h, w, c])


def tf_fixed(image: tf.Tensor) -> tf.Tensor:
    return tf.transpose(image, [0, 2, 3, 1])


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"image": np.random.default_rng(seed).uniform(size=(2, 3, 4, 5)).astype(np.float32)}
