"""A moving average with old and new exchanged."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "average_weights_exchanged"
KIND = "state"
SUBJECT = "function"
TITLE = "A moving average with old and new exchanged"
SYMPTOM = "The average follows every value, or hardly moves"
WHY = "decay belongs to the old average, 1 - decay to the new value"
CAUSE = "complement|tau-swapped"
FIX = "average = 0.95 * average + 0.05 * value"
PLACE = "output/0"


DECAY = 0.95


def torch_side(values: torch.Tensor) -> list[torch.Tensor]:
    average, found = torch.zeros_like(values[0]), []
    for value in values:
        average = DECAY * average + (1 - DECAY) * value
        found.append(average)
    return found


def averages(values: tf.Tensor, decay: float) -> list[tf.Tensor]:
    average, found = tf.zeros_like(values[0]), []
    for value in tf.unstack(values):
        average = decay * average + (1 - decay) * value
        found.append(average)
    return found


def tf_buggy(values: tf.Tensor) -> list[tf.Tensor]:
    return averages(values, 1 - DECAY)


def tf_fixed(values: tf.Tensor) -> list[tf.Tensor]:
    return averages(values, DECAY)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"values": np.random.default_rng(seed).normal(size=(3, 4)).astype(np.float32)}
