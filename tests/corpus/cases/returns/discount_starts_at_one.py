"""Discounting that starts one step too early."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "discount_starts_at_one"
KIND = "returns"
SUBJECT = "function"
TITLE = "Discounting that starts one step too early"
SYMPTOM = "Every return is smaller by the factor gamma"
WHY = "The first reward is multiplied by gamma^1 instead of gamma^0"
CAUSE = "discount-power|off-by-one"
FIX = "GAMMA ** tf.range(n), starting at 0"
PLACE = "output"


GAMMA = 0.92


def torch_side(reward: torch.Tensor) -> torch.Tensor:
    powers = GAMMA ** torch.arange(reward.shape[1], dtype=reward.dtype)
    return (powers * reward).sum(1)


def tf_buggy(reward: tf.Tensor) -> tf.Tensor:
    powers = GAMMA ** tf.range(1, reward.shape[1] + 1, dtype=reward.dtype)
    return tf.reduce_sum(powers * reward, 1)


def tf_fixed(reward: tf.Tensor) -> tf.Tensor:
    powers = GAMMA ** tf.range(reward.shape[1], dtype=reward.dtype)
    return tf.reduce_sum(powers * reward, 1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"reward": np.random.default_rng(seed).normal(size=(4, 9)).astype(np.float32)}
