"""The gradient of a maximum that two entries share."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "max_over_ties"
KIND = "gradient"
SUBJECT = "function"
TITLE = "The gradient of a maximum that two entries share"
SYMPTOM = "Values agree, gradients differ in the rows where several entries are largest"
WHY = "torch's max(dim) picks one entry, tf.reduce_max shares the gradient among all"
CAUSE = "tie-gradient"
FIX = "tf.gather(q, tf.argmax(q, 1), axis=1, batch_dims=1), or torch.amax on the other side"
PLACE = "grad/q"


def torch_side(q: torch.Tensor) -> torch.Tensor:
    return q.max(dim=1).values


def tf_buggy(q: tf.Tensor) -> tf.Tensor:
    return tf.reduce_max(q, axis=1)


def tf_fixed(q: tf.Tensor) -> tf.Tensor:
    return tf.gather(q, tf.argmax(q, axis=1), axis=1, batch_dims=1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"q": np.maximum(rng.normal(size=(6, 5)), 1.5).astype(np.float32)}
