"""Running statistics of the target network never updated."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "statistics_left_behind"
KIND = "target-update"
SUBJECT = "function"
TITLE = "Running statistics of the target network never updated"
SYMPTOM = "The target's outputs drift although all its weights follow"
WHY = "The update loops over trainable variables; running statistics are not among them"
CAUSE = "state-not-updated"
FIX = "Go through model.variables, or copy the non-trainable ones as they are"
PLACE = "output/target_mean"


TAU = 0.25


def torch_side(x: torch.Tensor) -> dict[str, torch.Tensor]:
    online = nn.BatchNorm1d(x.shape[1], momentum=0.1, dtype=x.dtype)
    target = nn.BatchNorm1d(x.shape[1], momentum=0.1, dtype=x.dtype)
    with torch.no_grad():
        online(x)
        online.weight.add_(0.5)
        for ours, theirs in zip(target.parameters(), online.parameters(), strict=True):
            ours.lerp_(theirs, TAU)
        target.running_mean.copy_(online.running_mean)
    return {"target_scale": target.weight, "target_mean": target.running_mean}


def update(x: tf.Tensor, everything: bool) -> dict[str, tf.Tensor]:
    online = keras.layers.BatchNormalization(momentum=0.9, dtype=x.dtype.name)
    target = keras.layers.BatchNormalization(momentum=0.9, dtype=x.dtype.name)
    online(x, training=True)
    target.build(x.shape)
    online.gamma.assign_add(0.5 * tf.ones_like(online.gamma))
    for ours, theirs in zip(target.trainable_variables, online.trainable_variables, strict=True):
        ours.assign((1 - TAU) * ours + TAU * theirs)
    if everything:
        target.moving_mean.assign(online.moving_mean)
    return {
        "target_scale": tf.convert_to_tensor(target.gamma),
        "target_mean": tf.convert_to_tensor(target.moving_mean),
    }


def tf_buggy(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return update(x, everything=False)


def tf_fixed(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return update(x, everything=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(1.0, 2.0, (9, 4)).astype(np.float32)}
