"""The smooth L1 loss is not the Huber loss."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "smooth_l1_beta"
KIND = "loss"
SUBJECT = "function"
TITLE = "The smooth L1 loss is not the Huber loss"
SYMPTOM = "Losses differ by a constant factor as soon as beta is not 1"
WHY = "smooth_l1_loss(beta) equals Huber(delta=beta) / beta"
CAUSE = "loss-kind|factor-two|constant-factor|loss-constant"
FIX = "keras.losses.huber(target, q, delta=0.5) / 0.5"
PLACE = "output"


def torch_side(q: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.smooth_l1_loss(q, target, beta=0.5)


def tf_buggy(q: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return keras.losses.huber(target, q, delta=0.5)


def tf_fixed(q: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return keras.losses.huber(target, q, delta=0.5) / 0.5


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=11).astype(np.float32) for name in ("q", "target")}
