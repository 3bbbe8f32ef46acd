"""An n-step sum that goes on after the end of the episode."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "n_step_past_the_end"
KIND = "returns"
SUBJECT = "function"
TITLE = "An n-step sum that goes on after the end of the episode"
SYMPTOM = "Targets near the end of an episode contain rewards of the next one"
WHY = "The bootstrap is masked, the rewards behind the end are not"
CAUSE = "mask-missing"
FIX = "Multiply each reward by the product of (1 - terminated) before it"
PLACE = "output"


GAMMA, N = 0.95, 3


def torch_side(reward: torch.Tensor, end: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    alive, total = torch.ones_like(value), torch.zeros_like(value)
    for k in range(N):
        total = total + GAMMA**k * alive * reward[k]
        alive = alive * (1 - end[k].to(value.dtype))
    return total + GAMMA**N * alive * value


def n_step(reward: tf.Tensor, end: tf.Tensor, value: tf.Tensor, masked: bool) -> tf.Tensor:
    alive, total = tf.ones_like(value), tf.zeros_like(value)
    for k in range(N):
        total = total + GAMMA**k * reward[k] * (alive if masked else 1.0)
        alive = alive * (1 - tf.cast(end[k], value.dtype))
    return total + GAMMA**N * alive * value


def tf_buggy(reward: tf.Tensor, end: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    return n_step(reward, end, value, masked=False)


def tf_fixed(reward: tf.Tensor, end: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    return n_step(reward, end, value, masked=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    end = np.zeros((N, 6), bool)
    end[0, 1] = end[1, 4] = True
    return {
        "reward": rng.normal(size=(N, 6)).astype(np.float32),
        "end": end,
        "value": rng.normal(size=6).astype(np.float32),
    }
