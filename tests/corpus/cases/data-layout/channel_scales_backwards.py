"""The scales of the colours are applied in the order blue, green, red."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "channel_scales_backwards"
KIND = "data-layout"
SUBJECT = "function"
TITLE = "The scales of the colours are applied in the order blue, green, red"
SYMPTOM = "Images look right, features of pretrained weights are poor"
WHY = "The three means and deviations were copied from a library that reads BGR"
CAUSE = "constant"
FIX = "scale = tf.constant([0.3, 0.4, 0.6])"
PLACE = "output"


SCALE = (0.3, 0.4, 0.6)


def torch_side(image: torch.Tensor) -> torch.Tensor:
    return image / torch.tensor(SCALE, dtype=image.dtype)


def tf_buggy(image: tf.Tensor) -> tf.Tensor:
    return image / tf.constant(SCALE[::-1], image.dtype)


def tf_fixed(image: tf.Tensor) -> tf.Tensor:
    return image / tf.constant(SCALE, image.dtype)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"image": np.random.default_rng(seed).random(size=(2, 5, 4, 3)).astype(np.float32)}
