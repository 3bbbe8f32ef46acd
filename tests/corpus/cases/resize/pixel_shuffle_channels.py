"""Sub-pixel upsampling with another order of channels."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "pixel_shuffle_channels"
KIND = "resize"
SUBJECT = "function"
TITLE = "Sub-pixel upsampling with another order of channels"
SYMPTOM = "The upscaled image has a checkerboard of swapped colours"
WHY = (
    "PixelShuffle reads channels as (colour, row, column), depth_to_space as (row, column, colour)"
)
CAUSE = "element-order|axis-order"
FIX = "Transpose the channels to (row, column, colour) before tf.nn.depth_to_space"
PLACE = "output"


COLOURS, FACTOR = 3, 2


def torch_side(image: torch.Tensor) -> torch.Tensor:
    return F.pixel_shuffle(image.permute(0, 3, 1, 2), FACTOR).permute(0, 2, 3, 1)


def tf_buggy(image: tf.Tensor) -> tf.Tensor:
    return tf.nn.depth_to_space(image, FACTOR)


def tf_fixed(image: tf.Tensor) -> tf.Tensor:
    b, h, w, _ = image.shape
    split = tf.reshape(image, [b, h, w, COLOURS, FACTOR * FACTOR])
    return tf.nn.depth_to_space(
        tf.reshape(tf.transpose(split, [0, 1, 2, 4, 3]), [b, h, w, -1]), FACTOR
    )


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shape = (2, 3, 5, COLOURS * FACTOR * FACTOR)
    return {"image": rng.uniform(size=shape).astype(np.float32)}
