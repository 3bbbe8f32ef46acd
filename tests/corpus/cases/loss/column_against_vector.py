"""A column of predictions compared with a vector of targets."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "column_against_vector"
KIND = "loss"
SUBJECT = "function"
TITLE = "A column of predictions compared with a vector of targets"
SYMPTOM = "The loss has a plausible size and the value estimates go to the mean of the targets"
WHY = "[B, 1] minus [B] is [B, B]: every prediction is compared with every target"
CAUSE = "silent-broadcast"
FIX = "tf.squeeze(prediction, axis=-1)"
PLACE = "output"


def torch_side(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (prediction.squeeze(-1) - target).abs().mean()


def tf_buggy(prediction: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.abs(prediction - target))


def tf_fixed(prediction: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.abs(tf.squeeze(prediction, -1) - target))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "prediction": rng.normal(size=(9, 1)).astype(np.float32),
        "target": rng.normal(size=9).astype(np.float32),
    }
