"""The mask of the next step cuts the advantage."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "gae_mask_one_step_late"
KIND = "returns"
SUBJECT = "function"
TITLE = "The mask of the next step cuts the advantage"
SYMPTOM = "Advantages are wrong at exactly two steps around every end"
WHY = "terminated[t] says that the transition from t ended; the port reads t + 1"
CAUSE = "mask-other|off-by-one|other-operand"
FIX = "going = 1 - terminated[t]"
PLACE = "output"


GAMMA, LAMBDA = 0.97, 0.9


def torch_side(reward: torch.Tensor, value: torch.Tensor, terminated: torch.Tensor) -> torch.Tensor:
    going = 1 - terminated
    running, found = torch.zeros_like(reward[0]), []
    for t in reversed(range(len(reward))):
        delta = reward[t] + GAMMA * value[t + 1] * going[t] - value[t]
        running = delta + GAMMA * LAMBDA * going[t] * running
        found.insert(0, running)
    return torch.stack(found)


def gae(reward: tf.Tensor, value: tf.Tensor, going: tf.Tensor) -> tf.Tensor:
    running, found = tf.zeros_like(reward[0]), []
    for t in reversed(range(reward.shape[0])):
        delta = reward[t] + GAMMA * value[t + 1] * going[t] - value[t]
        running = delta + GAMMA * LAMBDA * going[t] * running
        found.insert(0, running)
    return tf.stack(found)


def tf_buggy(reward: tf.Tensor, value: tf.Tensor, terminated: tf.Tensor) -> tf.Tensor:
    late = tf.concat([terminated[1:], tf.zeros_like(terminated[:1])], axis=0)
    return gae(reward, value, 1 - late)


def tf_fixed(reward: tf.Tensor, value: tf.Tensor, terminated: tf.Tensor) -> tf.Tensor:
    return gae(reward, value, 1 - terminated)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    terminated = np.zeros((9, 2), np.float32)
    terminated[3, 0] = terminated[6, 1] = 1
    return {
        "reward": rng.normal(size=(9, 2)).astype(np.float32),
        "value": rng.normal(size=(10, 2)).astype(np.float32),
        "terminated": terminated,
    }
