"""A clip through which the gradient should pass."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "straight_through_clip"
KIND = "gradient"
SUBJECT = "function"
TITLE = "A clip through which the gradient should pass"
SYMPTOM = "Actions that hit the bound stop learning"
WHY = "The torch code clips with a straight-through estimator, the port with a plain clip"
CAUSE = "straight-through|clip-gradient"
FIX = "action + tf.stop_gradient(tf.clip_by_value(action, -1.0, 1.0) - action)"
PLACE = "grad/action"


def torch_side(action: torch.Tensor) -> torch.Tensor:
    return action + (action.clamp(-1, 1) - action).detach()


def tf_buggy(action: tf.Tensor) -> tf.Tensor:
    return tf.clip_by_value(action, -1.0, 1.0)


def tf_fixed(action: tf.Tensor) -> tf.Tensor:
    return action + tf.stop_gradient(tf.clip_by_value(action, -1.0, 1.0) - action)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"action": rng.normal(scale=1.5, size=(6, 3)).astype(np.float32)}
