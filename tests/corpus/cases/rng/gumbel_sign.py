"""Gumbel noise with the wrong sign."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "gumbel_sign"
KIND = "rng"
SUBJECT = "function"
TITLE = "Gumbel noise with the wrong sign"
SYMPTOM = "Sampled classes are too often the unlikely ones"
WHY = "A Gumbel draw is -log(-log(u)); the outer minus is missing"
CAUSE = "sign"
FIX = "-tf.math.log(-tf.math.log(u))"
PLACE = "output"


def torch_side(logits: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    return torch.softmax(logits - torch.log(-torch.log(u)), -1)


def tf_buggy(logits: tf.Tensor, u: tf.Tensor) -> tf.Tensor:
    return tf.nn.softmax(logits + tf.math.log(-tf.math.log(u)))


def tf_fixed(logits: tf.Tensor, u: tf.Tensor) -> tf.Tensor:
    return tf.nn.softmax(logits - tf.math.log(-tf.math.log(u)))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "logits": rng.normal(size=(5, 4)).astype(np.float32),
        "u": rng.uniform(0.01, 0.99, size=(5, 4)).astype(np.float32),
    }
