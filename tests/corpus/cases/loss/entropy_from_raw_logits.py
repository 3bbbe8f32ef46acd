"""The entropy of logits that were never normalised."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "entropy_from_raw_logits"
KIND = "loss"
SUBJECT = "function"
TITLE = "The entropy of logits that were never normalised"
SYMPTOM = "The entropy bonus can be negative and grows with the logits"
WHY = "Log-probabilities are logits minus their logsumexp, not the raw logits"
CAUSE = "logits-probabilities|missing-operation|other-operand"
FIX = "-tf.reduce_sum(tf.nn.softmax(logits) * tf.nn.log_softmax(logits), axis=-1)"
PLACE = "output"


def torch_side(logits: torch.Tensor) -> torch.Tensor:
    log_p = F.log_softmax(logits, dim=-1)
    return -(log_p.exp() * log_p).sum(-1)


def tf_buggy(logits: tf.Tensor) -> tf.Tensor:
    return -tf.reduce_sum(tf.nn.softmax(logits) * logits, axis=-1)


def tf_fixed(logits: tf.Tensor) -> tf.Tensor:
    return -tf.reduce_sum(tf.nn.softmax(logits) * tf.nn.log_softmax(logits), axis=-1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"logits": rng.normal(size=(6, 4)).astype(np.float32)}
