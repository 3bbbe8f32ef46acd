"""The larger of two critics in the target."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "plain_max_for_twin_minimum"
KIND = "returns"
SUBJECT = "function"
TITLE = "The larger of two critics in the target"
SYMPTOM = "Values explode after some thousand updates"
WHY = "The target takes the minimum of both critics; the port the maximum"
CAUSE = "other-operation"
FIX = "tf.minimum(q1, q2)"
PLACE = "output"


def torch_side(
    reward: torch.Tensor, discount: torch.Tensor, q1: torch.Tensor, q2: torch.Tensor
) -> torch.Tensor:
    return reward + discount * torch.min(q1, q2)


def tf_buggy(reward: tf.Tensor, discount: tf.Tensor, q1: tf.Tensor, q2: tf.Tensor) -> tf.Tensor:
    return reward + discount * tf.maximum(q1, q2)


def tf_fixed(reward: tf.Tensor, discount: tf.Tensor, q1: tf.Tensor, q2: tf.Tensor) -> tf.Tensor:
    return reward + discount * tf.minimum(q1, q2)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    discount = np.where(np.arange(12) % 5 == 2, 0.0, 0.99).astype(np.float32)
    drawn = {name: rng.normal(size=12).astype(np.float32) for name in ("reward", "q1", "q2")}
    return {"reward": drawn["reward"], "discount": discount, "q1": drawn["q1"], "q2": drawn["q2"]}
