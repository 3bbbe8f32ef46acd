"""Half of the squared error on one side."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "mse_half"
KIND = "loss"
SUBJECT = "function"
TITLE = "Half of the squared error on one side"
SYMPTOM = "The same learning rate trains twice as fast after the port"
WHY = "0.5 * (target - q)^2 from the paper against the library's mean squared error"
CAUSE = "factor-two|constant-factor"
FIX = "0.5 * tf.reduce_mean(tf.square(target - q))"
PLACE = "output"


def torch_side(q: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return 0.5 * (target - q).pow(2).mean()


def tf_buggy(q: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.square(target - q))


def tf_fixed(q: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return 0.5 * tf.reduce_mean(tf.square(target - q))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=13).astype(np.float32) for name in ("q", "target")}
