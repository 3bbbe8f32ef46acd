"""The policy loss trains the value function through the advantage."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "advantage_not_detached"
KIND = "gradient"
SUBJECT = "function"
TITLE = "The policy loss trains the value function through the advantage"
SYMPTOM = "The critic's error grows while the policy improves"
WHY = "The advantage is a weight, not something to minimise; torch detaches it"
CAUSE = "stop-gradient-missing"
FIX = "tf.stop_gradient(returns - value)"
PLACE = "grad/value"


def torch_side(
    log_prob: torch.Tensor, value: torch.Tensor, returns: torch.Tensor
) -> dict[str, torch.Tensor]:
    advantage = returns - value
    return {
        "actor": -(log_prob * advantage.detach()).mean(),
        "critic": 0.5 * advantage.square().mean(),
    }


def losses(log_prob: tf.Tensor, advantage: tf.Tensor, weight: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "actor": -tf.reduce_mean(log_prob * weight),
        "critic": 0.5 * tf.reduce_mean(tf.square(advantage)),
    }


def tf_buggy(log_prob: tf.Tensor, value: tf.Tensor, returns: tf.Tensor) -> dict[str, tf.Tensor]:
    advantage = returns - value
    return losses(log_prob, advantage, advantage)


def tf_fixed(log_prob: tf.Tensor, value: tf.Tensor, returns: tf.Tensor) -> dict[str, tf.Tensor]:
    advantage = returns - value
    return losses(log_prob, advantage, tf.stop_gradient(advantage))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    names = ("log_prob", "value", "returns")
    return {name: rng.normal(size=14).astype(np.float32) for name in names}
