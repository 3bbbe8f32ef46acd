"""Rewards reduced to their sign instead of clipped."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "reward_sign_for_clip"
KIND = "rollout"
SUBJECT = "function"
TITLE = "Rewards reduced to their sign instead of clipped"
SYMPTOM = "Small rewards count as much as large ones"
WHY = "clip(r, -1, 1) and sign(r) agree only for rewards beyond 1"
CAUSE = "other-function|other-operation"
FIX = "tf.clip_by_value(reward, -1.0, 1.0)"
PLACE = "output"


def torch_side(reward: torch.Tensor) -> torch.Tensor:
    return reward.clamp(-1, 1)


def tf_buggy(reward: tf.Tensor) -> tf.Tensor:
    return tf.sign(reward)


def tf_fixed(reward: tf.Tensor) -> tf.Tensor:
    return tf.clip_by_value(reward, -1.0, 1.0)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"reward": np.random.default_rng(seed).normal(scale=1.5, size=9).astype(np.float32)}
