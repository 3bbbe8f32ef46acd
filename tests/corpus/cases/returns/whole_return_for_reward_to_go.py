"""Every step weighted by the whole episode's return."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "whole_return_for_reward_to_go"
KIND = "returns"
SUBJECT = "function"
TITLE = "Every step weighted by the whole episode's return"
SYMPTOM = "Learning works and is far noisier; the loss oscillates"
WHY = "Rewards before an action do not depend on it; the reward-to-go leaves them out"
CAUSE = "total-return"
FIX = "tf.cumsum(reward, reverse=True)"
PLACE = "output"


def torch_side(log_prob: torch.Tensor, reward: torch.Tensor) -> torch.Tensor:
    to_go = reward.flip(0).cumsum(0).flip(0)
    return -log_prob * to_go


def tf_buggy(log_prob: tf.Tensor, reward: tf.Tensor) -> tf.Tensor:
    return -log_prob * tf.reduce_sum(reward)


def tf_fixed(log_prob: tf.Tensor, reward: tf.Tensor) -> tf.Tensor:
    return -log_prob * tf.cumsum(reward, reverse=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=9).astype(np.float32) for name in ("log_prob", "reward")}
