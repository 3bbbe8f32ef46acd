"""An annealed coefficient that never anneals."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "coefficient_frozen"
KIND = "graph"
SUBJECT = "function"
TITLE = "An annealed coefficient that never anneals"
SYMPTOM = "The first loss agrees, later ones keep the first coefficient"
WHY = "A Python attribute is read once, when the function is traced"
CAUSE = "frozen-state"
FIX = "self.beta = tf.Variable(0.4), changed with assign"
PLACE = "output/1"


def torch_side(policy: torch.Tensor, entropy: torch.Tensor) -> list[torch.Tensor]:
    beta, losses = 0.4, []
    for _ in range(3):
        losses.append((policy - beta * entropy).mean())
        beta *= 0.5
    return losses


class Agent(tf.Module):
    def __init__(self, beta: float | tf.Variable) -> None:
        super().__init__()
        self.beta = beta

    @tf.function
    def loss(self, policy: tf.Tensor, entropy: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(policy - self.beta * entropy)


def tf_buggy(policy: tf.Tensor, entropy: tf.Tensor) -> list[tf.Tensor]:
    agent, losses = Agent(0.4), []
    for _ in range(3):
        losses.append(agent.loss(policy, entropy))
        agent.beta *= 0.5
    return losses


def tf_fixed(policy: tf.Tensor, entropy: tf.Tensor) -> list[tf.Tensor]:
    agent, losses = Agent(tf.Variable(0.4, dtype=policy.dtype)), []
    for _ in range(3):
        losses.append(agent.loss(policy, entropy))
        agent.beta.assign(agent.beta * 0.5)
    return losses


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=9).astype(np.float32) for name in ("policy", "entropy")}
