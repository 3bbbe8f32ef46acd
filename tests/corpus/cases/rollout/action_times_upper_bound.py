"""An action times its upper bound."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "action_times_upper_bound"
KIND = "rollout"
SUBJECT = "function"
TITLE = "An action times its upper bound"
SYMPTOM = "Actions of a space that is not symmetric leave their bounds, or never reach one"
WHY = "a * high is right only where low is -high"
CAUSE = "action-scale"
FIX = "low + (a + 1) * (high - low) / 2"
PLACE = "output/value"


def torch_side(action: torch.Tensor) -> torch.Tensor:
    low = torch.tensor([0.0, -3.0, -0.2, 1.0], dtype=action.dtype)
    high = torch.tensor([4.0, 3.0, 0.6, 2.0], dtype=action.dtype)
    return low + (action + 1) * (high - low) / 2


def tf_buggy(action: tf.Tensor) -> tf.Tensor:
    return action * tf.constant([4.0, 3.0, 0.6, 2.0], action.dtype)


def tf_fixed(action: tf.Tensor) -> tf.Tensor:
    low = tf.constant([0.0, -3.0, -0.2, 1.0], action.dtype)
    high = tf.constant([4.0, 3.0, 0.6, 2.0], action.dtype)
    return low + (action + 1) * (high - low) / 2


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"action": np.random.default_rng(seed).uniform(-1, 1, (6, 4)).astype(np.float32)}
