"""A divergence averaged over elements instead of rows."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "kl_batchmean"
KIND = "loss"
SUBJECT = "function"
TITLE = "A divergence averaged over elements instead of rows"
SYMPTOM = "The KL penalty is smaller by the number of actions"
WHY = 'F.kl_div\'s "batchmean" divides by the rows, a mean over everything also by the columns'
CAUSE = "loss-reduction"
FIX = "tf.reduce_mean(tf.reduce_sum(p * (log_p - log_q), axis=-1))"
PLACE = "output"


def torch_side(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    log_p, log_q = F.log_softmax(old, -1), F.log_softmax(new, -1)
    return F.kl_div(log_q, log_p, log_target=True, reduction="batchmean")


def elements(old: tf.Tensor, new: tf.Tensor) -> tf.Tensor:
    log_p, log_q = tf.nn.log_softmax(old), tf.nn.log_softmax(new)
    return tf.exp(log_p) * (log_p - log_q)


def tf_buggy(old: tf.Tensor, new: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(elements(old, new))


def tf_fixed(old: tf.Tensor, new: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.reduce_sum(elements(old, new), axis=-1))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(9, 4)).astype(np.float32) for name in ("old", "new")}
