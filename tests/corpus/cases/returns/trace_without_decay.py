"""The traces are the capped ratios alone, without their decay."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "trace_without_decay"
KIND = "returns"
SUBJECT = "function"
TITLE = "The traces are the capped ratios alone, without their decay"
SYMPTOM = "Targets with the variance of lambda = 1"
WHY = "Retrace's coefficient is lambda * min(1, rho); lambda was left out"
CAUSE = "missing-factor"
FIX = "trace = decay * tf.minimum(tf.exp(log_rho), 1.0)"
PLACE = "output"


GAMMA, DECAY = 0.99, 0.85


def torch_side(delta: torch.Tensor, log_rho: torch.Tensor) -> torch.Tensor:
    trace = DECAY * log_rho.exp().clamp(max=1.0)
    ahead = torch.cat([torch.ones_like(trace[:1]), GAMMA * trace[1:]])
    return (torch.cumprod(ahead, 0) * delta).sum(0)


def summed(delta: tf.Tensor, trace: tf.Tensor) -> tf.Tensor:
    ahead = tf.concat([tf.ones_like(trace[:1]), GAMMA * trace[1:]], 0)
    return tf.reduce_sum(tf.math.cumprod(ahead, 0) * delta, 0)


def tf_buggy(delta: tf.Tensor, log_rho: tf.Tensor) -> tf.Tensor:
    return summed(delta, tf.minimum(tf.exp(log_rho), 1.0))


def tf_fixed(delta: tf.Tensor, log_rho: tf.Tensor) -> tf.Tensor:
    return summed(delta, DECAY * tf.minimum(tf.exp(log_rho), 1.0))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {n: rng.normal(size=(6, 5)).astype(np.float32) for n in ("delta", "log_rho")}
