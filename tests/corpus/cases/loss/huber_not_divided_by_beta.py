"""A smooth L1 loss ported as a Huber loss, which is not divided by its threshold."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "huber_not_divided_by_beta"
KIND = "loss"
SUBJECT = "function"
TITLE = "A smooth L1 loss ported as a Huber loss, which is not divided by its threshold"
SYMPTOM = "The loss is smaller by a constant factor, equal where the threshold is 1"
WHY = "smooth L1 is Huber / beta; keras.losses.huber is not divided"
CAUSE = "loss-kind|constant-factor"
FIX = "keras.losses.huber(target, value, delta=beta) / beta"
PLACE = "output"


BETA = 0.25


def torch_side(value: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.smooth_l1_loss(value, target, beta=BETA)


def tf_buggy(value: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(keras.losses.huber(target, value, delta=BETA))


def tf_fixed(value: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(keras.losses.huber(target, value, delta=BETA)) / BETA


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {n: rng.normal(size=(10, 3)).astype(np.float32) for n in ("value", "target")}
