"""Rolled in the other direction."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "rolled_the_other_way"
KIND = "numerics"
SUBJECT = "function"
TITLE = "Rolled in the other direction"
SYMPTOM = "Every row meets its successor where it should meet its predecessor"
WHY = "A positive shift moves elements to higher indices"
CAUSE = "shift-direction|sign|off-by-one"
FIX = "tf.roll(x, shift=1, axis=0)"
PLACE = "output"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return x - torch.roll(x, 1, dims=0)


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return x - tf.roll(x, shift=-1, axis=0)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return x - tf.roll(x, shift=1, axis=0)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(6, 2)).astype(np.float32)}
