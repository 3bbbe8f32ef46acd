"""A logarithm clipped to another range."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "clip_range"
KIND = "numerics"
SUBJECT = "function"
TITLE = "A logarithm clipped to another range"
SYMPTOM = "Narrow policies are wider than they were"
WHY = "log_std was clipped to [-6, 1] in torch and to [-2, 1] in the port"
CAUSE = "constant"
FIX = "tf.clip_by_value(log_std, -6.0, 1.0)"
PLACE = "output/std"


def torch_side(log_std: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"std": log_std.clamp(-6.0, 1.0).exp()}


def tf_buggy(log_std: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"std": tf.exp(tf.clip_by_value(log_std, -2.0, 1.0))}


def tf_fixed(log_std: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"std": tf.exp(tf.clip_by_value(log_std, -6.0, 1.0))}


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"log_std": rng.uniform(-7, 2, size=(5, 3)).astype(np.float32)}
