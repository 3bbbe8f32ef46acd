"""Integers and flags among the outputs."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "integers_and_flags"
KIND = "control"
SUBJECT = "function"
TITLE = "Integers and flags among the outputs"
WHY = "They have no gradient and are compared for equality"


def torch_side(q: torch.Tensor) -> dict[str, torch.Tensor]:
    best = q.argmax(dim=-1)
    return {"action": best, "positive": (q > 0).any(-1), "value": q.amax(-1)}


def tf_fixed(q: tf.Tensor) -> dict[str, tf.Tensor]:
    best = tf.argmax(q, axis=-1)
    positive = tf.reduce_any(q > 0, axis=-1)
    return {"action": best, "positive": positive, "value": tf.reduce_max(q, axis=-1)}


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"q": np.random.default_rng(seed).normal(size=(7, 4)).astype(np.float32)}
