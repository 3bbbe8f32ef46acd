"""An n-step target that discounts its bootstrap by one step."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "n_step_gamma_power"
KIND = "returns"
SUBJECT = "function"
TITLE = "An n-step target that discounts its bootstrap by one step"
SYMPTOM = "Values are too high, the more steps the higher"
WHY = "gamma instead of gamma^n in front of the value n steps ahead"
CAUSE = "discount-power"
FIX = "target + GAMMA**N * value"
PLACE = "output"


GAMMA, N = 0.9, 4


def torch_side(rewards: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    target = sum(GAMMA**k * rewards[:, k] for k in range(N))
    return target + GAMMA**N * value


def tf_buggy(rewards: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    target = sum(GAMMA**k * rewards[:, k] for k in range(N))
    return target + GAMMA * value


def tf_fixed(rewards: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    target = sum(GAMMA**k * rewards[:, k] for k in range(N))
    return target + GAMMA**N * value


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "rewards": rng.normal(size=(7, N)).astype(np.float32),
        "value": rng.normal(scale=3.0, size=7).astype(np.float32),
    }
