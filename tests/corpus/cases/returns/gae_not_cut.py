"""The advantage trace carried across the end of an episode."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "gae_not_cut"
KIND = "returns"
SUBJECT = "function"
TITLE = "The advantage trace carried across the end of an episode"
SYMPTOM = "Advantages before an episode's end are contaminated by the next episode"
WHY = "Only the bootstrap is masked; the recursion's own memory is not"
CAUSE = "mask-missing"
FIX = "running = delta + gamma * lambda_ * (1 - terminated) * running"
PLACE = "output"


GAMMA, LAMBDA = 0.98, 0.9


def torch_side(r: torch.Tensor, v: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
    going = 1 - end.to(r.dtype)
    running, found = torch.zeros_like(r[0]), []
    for t in reversed(range(len(r))):
        delta = r[t] + GAMMA * going[t] * v[t + 1] - v[t]
        running = delta + GAMMA * LAMBDA * going[t] * running
        found.insert(0, running)
    return torch.stack(found)


def gae(r: tf.Tensor, v: tf.Tensor, going: tf.Tensor, carried: tf.Tensor) -> tf.Tensor:
    running, found = tf.zeros_like(r[0]), []
    for t in reversed(range(r.shape[0])):
        delta = r[t] + GAMMA * going[t] * v[t + 1] - v[t]
        running = delta + GAMMA * LAMBDA * carried[t] * running
        found.insert(0, running)
    return tf.stack(found)


def tf_buggy(r: tf.Tensor, v: tf.Tensor, end: tf.Tensor) -> tf.Tensor:
    return gae(r, v, 1 - tf.cast(end, r.dtype), tf.ones_like(r))


def tf_fixed(r: tf.Tensor, v: tf.Tensor, end: tf.Tensor) -> tf.Tensor:
    going = 1 - tf.cast(end, r.dtype)
    return gae(r, v, going, going)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    end = np.zeros((8, 3), bool)
    end[3, 0] = end[5, 1] = True
    return {
        "r": rng.normal(size=(8, 3)).astype(np.float32),
        "v": rng.normal(size=(9, 3)).astype(np.float32),
        "end": end,
    }
