"""The log-probability of an action is picked from logits that are not normalised."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
from torch.distributions import Categorical

ID = "log_prob_of_raw_logits"
KIND = "loss"
SUBJECT = "function"
TITLE = "The log-probability of an action is picked from logits that are not normalised"
SYMPTOM = "Log-probabilities above zero; the entropy, which has its own softmax, agrees"
WHY = "Categorical(logits=...) subtracts the logsumexp, a gather from the logits does not"
CAUSE = "logits-probabilities"
FIX = "tf.gather(tf.nn.log_softmax(logits), action, batch_dims=1)"
PLACE = "output/log_prob"


def torch_side(logits: torch.Tensor, action: torch.Tensor) -> dict[str, torch.Tensor]:
    policy = Categorical(logits=logits)
    return {"log_prob": policy.log_prob(action), "entropy": policy.entropy()}


def picked(logits: tf.Tensor, action: tf.Tensor, normalised: bool) -> dict[str, tf.Tensor]:
    logs = tf.nn.log_softmax(logits)
    entropy = -tf.reduce_sum(tf.exp(logs) * logs, axis=-1)
    taken = tf.gather(logs if normalised else logits, action, batch_dims=1)
    return {"log_prob": taken, "entropy": entropy}


def tf_buggy(logits: tf.Tensor, action: tf.Tensor) -> dict[str, tf.Tensor]:
    return picked(logits, action, False)


def tf_fixed(logits: tf.Tensor, action: tf.Tensor) -> dict[str, tf.Tensor]:
    return picked(logits, action, True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(11, 4)).astype(np.float32)
    return {"logits": logits, "action": rng.integers(0, 4, size=11)}
