"""Double Q-learning with the two networks exchanged."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "double_q_networks_swapped"
KIND = "returns"
SUBJECT = "function"
TITLE = "Double Q-learning with the two networks exchanged"
SYMPTOM = "Values are overestimated about as much as without the second network"
WHY = "The online network selects, the target network evaluates; the port does it the other way"
CAUSE = "other-operand|argument-order|operand-order"
FIX = "tf.gather(q_target, tf.argmax(q_online, 1), axis=1, batch_dims=1)"
PLACE = "output"


def torch_side(
    reward: torch.Tensor, q_online: torch.Tensor, q_target: torch.Tensor
) -> torch.Tensor:
    best = q_online.argmax(1, keepdim=True)
    return reward + 0.99 * q_target.gather(1, best).squeeze(1).detach()


def double(reward: tf.Tensor, selecting: tf.Tensor, evaluating: tf.Tensor) -> tf.Tensor:
    value = tf.gather(evaluating, tf.argmax(selecting, 1), axis=1, batch_dims=1)
    return reward + 0.99 * tf.stop_gradient(value)


def tf_buggy(reward: tf.Tensor, q_online: tf.Tensor, q_target: tf.Tensor) -> tf.Tensor:
    return double(reward, q_target, q_online)


def tf_fixed(reward: tf.Tensor, q_online: tf.Tensor, q_target: tf.Tensor) -> tf.Tensor:
    return double(reward, q_online, q_target)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "reward": rng.normal(size=8).astype(np.float32),
        "q_online": rng.normal(size=(8, 5)).astype(np.float32),
        "q_target": rng.normal(size=(8, 5)).astype(np.float32),
    }
