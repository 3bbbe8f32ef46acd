"""A log-sum-exp without its safeguard."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "logsumexp_overflows"
KIND = "numerics"
SUBJECT = "function"
TITLE = "A log-sum-exp without its safeguard"
SYMPTOM = "Infinite losses for confident logits, agreement otherwise"
WHY = "exp(100) is more than float32 can hold; the largest value has to be taken out first"
CAUSE = "unstable-formula|other-function"
FIX = "tf.reduce_logsumexp(x, axis=-1)"
PLACE = "output"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return torch.logsumexp(x, dim=-1)


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return tf.math.log(tf.reduce_sum(tf.exp(x), axis=-1))


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_logsumexp(x, axis=-1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    x = np.random.default_rng(seed).normal(scale=3.0, size=(4, 6))
    x[1] += 900.0
    return {"x": x.astype(np.float32)}
