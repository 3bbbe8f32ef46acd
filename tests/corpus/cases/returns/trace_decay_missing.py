"""An eligibility trace that does not decay by lambda."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "trace_decay_missing"
KIND = "returns"
SUBJECT = "function"
TITLE = "An eligibility trace that does not decay by lambda"
SYMPTOM = "Old states are credited too much; with lambda = 1 nothing differs"
WHY = "The trace is multiplied by the discount alone"
CAUSE = "missing-factor|discount-power|constant"
FIX = "trace = discount * 0.7 * trace + feature"
PLACE = "output/value"


def torch_side(features: torch.Tensor, discount: torch.Tensor) -> torch.Tensor:
    trace, made = torch.zeros_like(features[0]), []
    for t in range(features.shape[0]):
        trace = discount[t] * 0.7 * trace + features[t]
        made.append(trace)
    return torch.stack(made)


def tf_buggy(features: tf.Tensor, discount: tf.Tensor) -> tf.Tensor:
    trace, made = tf.zeros_like(features[0]), []
    for t in range(features.shape[0]):
        trace = discount[t] * trace + features[t]
        made.append(trace)
    return tf.stack(made)


def tf_fixed(features: tf.Tensor, discount: tf.Tensor) -> tf.Tensor:
    trace, made = tf.zeros_like(features[0]), []
    for t in range(features.shape[0]):
        trace = discount[t] * 0.7 * trace + features[t]
        made.append(trace)
    return tf.stack(made)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(5, 3)).astype(np.float32)
    return {"features": features, "discount": rng.uniform(0.5, 1, 5).astype(np.float32)}
