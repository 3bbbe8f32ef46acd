"""The entropy added to the loss instead of subtracted."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "entropy_bonus_sign"
KIND = "loss"
SUBJECT = "function"
TITLE = "The entropy added to the loss instead of subtracted"
SYMPTOM = "The policy becomes deterministic within a few updates"
WHY = "A bonus must lower the loss; the port has the plus of the objective that is maximised"
CAUSE = "sign"
FIX = "total = policy_loss - 0.02 * entropy"
PLACE = "output/total"


def torch_side(
    logits: torch.Tensor, action: torch.Tensor, advantage: torch.Tensor
) -> dict[str, torch.Tensor]:
    log_p = torch.log_softmax(logits, -1)
    policy = -(log_p.gather(1, action[:, None])[:, 0] * advantage).mean()
    entropy = -(log_p.exp() * log_p).sum(-1).mean()
    return {"policy": policy, "entropy": entropy, "total": policy - 0.02 * entropy}


def parts(
    logits: tf.Tensor, action: tf.Tensor, advantage: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    log_p = tf.nn.log_softmax(logits)
    policy = -tf.reduce_mean(tf.gather(log_p, action, axis=1, batch_dims=1) * advantage)
    return policy, -tf.reduce_mean(tf.reduce_sum(tf.exp(log_p) * log_p, -1))


def tf_buggy(logits: tf.Tensor, action: tf.Tensor, advantage: tf.Tensor) -> dict[str, tf.Tensor]:
    policy, entropy = parts(logits, action, advantage)
    return {"policy": policy, "entropy": entropy, "total": policy + 0.02 * entropy}


def tf_fixed(logits: tf.Tensor, action: tf.Tensor, advantage: tf.Tensor) -> dict[str, tf.Tensor]:
    policy, entropy = parts(logits, action, advantage)
    return {"policy": policy, "entropy": entropy, "total": policy - 0.02 * entropy}


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "logits": rng.normal(size=(11, 3)).astype(np.float32),
        "action": rng.integers(0, 3, size=11),
        "advantage": rng.normal(size=11).astype(np.float32),
    }
