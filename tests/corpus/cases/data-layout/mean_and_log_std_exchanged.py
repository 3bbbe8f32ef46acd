"""The two halves of a policy's output exchanged."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "mean_and_log_std_exchanged"
KIND = "data-layout"
SUBJECT = "function"
TITLE = "The two halves of a policy's output exchanged"
SYMPTOM = "The policy's mean is small and positive, its spread enormous"
WHY = "torch's chunk gives mean, log_std; the port unpacks them the other way round"
CAUSE = "entries-exchanged|split-order|other-operand"
FIX = "mean, log_std = tf.split(x, 2, axis=-1)"
PLACE = "output/mean"


def torch_side(x: torch.Tensor) -> dict[str, torch.Tensor]:
    mean, log_std = x.chunk(2, dim=-1)
    return {"mean": torch.tanh(mean), "std": log_std.clamp(-5, 1).exp()}


def policy(mean: tf.Tensor, log_std: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"mean": tf.tanh(mean), "std": tf.exp(tf.clip_by_value(log_std, -5.0, 1.0))}


def tf_buggy(x: tf.Tensor) -> dict[str, tf.Tensor]:
    log_std, mean = tf.split(x, 2, axis=-1)
    return policy(mean, log_std)


def tf_fixed(x: tf.Tensor) -> dict[str, tf.Tensor]:
    mean, log_std = tf.split(x, 2, axis=-1)
    return policy(mean, log_std)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(7, 4)).astype(np.float32)}
