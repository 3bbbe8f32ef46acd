"""Blue, green, red for red, green, blue."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "colours_reversed"
KIND = "data-layout"
SUBJECT = "function"
TITLE = "Blue, green, red for red, green, blue"
SYMPTOM = "Accuracy drops by a few per cent, most on colourful classes"
WHY = "The image library of one side loads BGR"
CAUSE = "reversed-axis"
FIX = "image[..., ::-1]"
PLACE = "output"


MEAN = (0.48, 0.46, 0.41)


def torch_side(image: torch.Tensor) -> torch.Tensor:
    return image.flip(-1) - torch.tensor(MEAN, dtype=image.dtype)


def tf_buggy(image: tf.Tensor) -> tf.Tensor:
    return image - tf.constant(MEAN, image.dtype)


def tf_fixed(image: tf.Tensor) -> tf.Tensor:
    return image[..., ::-1] - tf.constant(MEAN, image.dtype)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"image": np.random.default_rng(seed).uniform(size=(2, 4, 5, 3)).astype(np.float32)}
