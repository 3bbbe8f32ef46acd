"""The sign of the factorised noise is lost."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "noise_transform_without_sign"
KIND = "rng"
SUBJECT = "function"
TITLE = "The sign of the factorised noise is lost"
SYMPTOM = "Noisy layers only ever push in one direction"
WHY = "f(x) = sign(x) * sqrt(|x|)"
CAUSE = "missing-factor|missing-operation"
FIX = "tf.sign(x) * tf.sqrt(tf.abs(x))"
PLACE = "output"


def torch_side(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sign() * x.abs().sqrt()

    return torch.outer(f(p), f(q))


def tf_buggy(p: tf.Tensor, q: tf.Tensor) -> tf.Tensor:
    return tf.sqrt(tf.abs(p))[:, None] * tf.sqrt(tf.abs(q))[None, :]


def tf_fixed(p: tf.Tensor, q: tf.Tensor) -> tf.Tensor:
    def f(x: tf.Tensor) -> tf.Tensor:
        return tf.sign(x) * tf.sqrt(tf.abs(x))

    return f(p)[:, None] * f(q)[None, :]


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"p": rng.normal(size=4).astype(np.float32), "q": rng.normal(size=3).astype(np.float32)}
