"""A lambda-return mixes in the value of its own state instead of the next one's."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "lambda_mixes_own_value"
KIND = "returns"
SUBJECT = "function"
TITLE = "A lambda-return mixes in the value of its own state instead of the next one's"
SYMPTOM = "Targets lag behind by one step; with lambda = 1 nothing differs"
WHY = "The bootstrap of step t is V(t + 1), the last one's is the value behind the rollout"
CAUSE = "off-by-one"
FIX = "following = tf.concat([value[1:], last[None]], 0)"
PLACE = "output"


GAMMA, LAMBDA = 0.98, 0.7


def torch_side(reward: torch.Tensor, value: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    following = torch.cat([value[1:], last[None]])
    found, later = [], last
    for t in reversed(range(len(reward))):
        later = reward[t] + GAMMA * ((1 - LAMBDA) * following[t] + LAMBDA * later)
        found.append(later)
    return torch.stack(found[::-1])


def mixed(reward: tf.Tensor, following: tf.Tensor, last: tf.Tensor) -> tf.Tensor:
    own = reward + GAMMA * (1 - LAMBDA) * following
    return tf.scan(lambda later, now: now + GAMMA * LAMBDA * later, own, last, reverse=True)


def tf_buggy(reward: tf.Tensor, value: tf.Tensor, last: tf.Tensor) -> tf.Tensor:
    return mixed(reward, value, last)


def tf_fixed(reward: tf.Tensor, value: tf.Tensor, last: tf.Tensor) -> tf.Tensor:
    return mixed(reward, tf.concat([value[1:], last[None]], 0), last)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = {"reward": (7, 3), "value": (7, 3), "last": (3,)}
    return {n: rng.normal(size=shape).astype(np.float32) for n, shape in shapes.items()}
