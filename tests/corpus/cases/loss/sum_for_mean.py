"""A loss summed over the batch instead of averaged."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "sum_for_mean"
KIND = "loss"
SUBJECT = "function"
TITLE = "A loss summed over the batch instead of averaged"
SYMPTOM = "Gradients grow with the batch size; the learning rate has to be divided by it"
WHY = 'reduction="sum" against the default mean'
CAUSE = "loss-reduction"
FIX = "tf.reduce_mean(...)"
PLACE = "output"


def torch_side(predicted: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    return F.l1_loss(predicted, wanted)


def tf_buggy(predicted: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.abs(predicted - wanted))


def tf_fixed(predicted: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.abs(predicted - wanted))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(7, 3)).astype(np.float32) for name in ("predicted", "wanted")}
