"""Observations normalised before the statistics have seen them."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "normaliser_updated_late"
KIND = "state"
SUBJECT = "function"
TITLE = "Observations normalised before the statistics have seen them"
SYMPTOM = "Observations differ from the first step on, less and less as time goes by"
WHY = "One side updates mean and variance first, the other normalises first"
CAUSE = "update-order"
FIX = "Update, then normalise"
PLACE = "output/0"


def torch_side(x: torch.Tensor) -> list[torch.Tensor]:
    mean, count, found = torch.zeros_like(x[0]), 1.0, []
    for observation in x:
        count += 1
        mean = mean + (observation - mean) / count
        found.append(observation - mean)
    return found


def tf_buggy(x: tf.Tensor) -> list[tf.Tensor]:
    mean, count, found = tf.zeros_like(x[0]), 1.0, []
    for observation in tf.unstack(x):
        found.append(observation - mean)
        count += 1
        mean = mean + (observation - mean) / count
    return found


def tf_fixed(x: tf.Tensor) -> list[tf.Tensor]:
    mean, count, found = tf.zeros_like(x[0]), 1.0, []
    for observation in tf.unstack(x):
        count += 1
        mean = mean + (observation - mean) / count
        found.append(observation - mean)
    return found


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(2.0, 1.0, (4, 3)).astype(np.float32)}
