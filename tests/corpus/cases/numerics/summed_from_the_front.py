"""A running sum from the front in place of from the back."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "summed_from_the_front"
KIND = "numerics"
SUBJECT = "function"
TITLE = "A running sum from the front in place of from the back"
SYMPTOM = "The first steps get little where they should get most"
WHY = "Rewards to go are summed from the end"
CAUSE = "reversed-axis|option|switch|total-return"
FIX = "tf.cumsum(x, axis=0, reverse=True)"
PLACE = "output"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return x.flip(0).cumsum(0).flip(0)


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return tf.cumsum(x, axis=0)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return tf.cumsum(x, axis=0, reverse=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(7, 2)).astype(np.float32)}
