"""A gradient that is zero everywhere, on purpose."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "nothing_to_learn_behind_a_stop"
KIND = "control"
SUBJECT = "function"
TITLE = "A gradient that is zero everywhere, on purpose"
WHY = "stop_gradient and detach cut the same input off on both sides"


def torch_side(value: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (value - target.detach()).abs().mean()


def tf_fixed(value: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.abs(value - tf.stop_gradient(target)))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=10).astype(np.float32) for name in ("value", "target")}
