"""The two parts of a lambda-return mixed the other way round."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "lambda_mixed_up"
KIND = "returns"
SUBJECT = "function"
TITLE = "The two parts of a lambda-return mixed the other way round"
SYMPTOM = "lambda = 0.9 behaves like lambda = 0.1"
WHY = "(1 - lambda) belongs to the value, lambda to the longer return"
CAUSE = "complement"
FIX = "r + gamma * ((1 - lambda_) * v + lambda_ * running)"
PLACE = "output"


GAMMA, LAMBDA = 0.97, 0.8


def torch_side(r: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    running, found = v[-1], []
    for t in reversed(range(len(r))):
        running = r[t] + GAMMA * ((1 - LAMBDA) * v[t] + LAMBDA * running)
        found.insert(0, running)
    return torch.stack(found)


def lambda_return(r: tf.Tensor, v: tf.Tensor, mix: float) -> tf.Tensor:
    running, found = v[-1], []
    for t in reversed(range(r.shape[0])):
        running = r[t] + GAMMA * ((1 - mix) * v[t] + mix * running)
        found.insert(0, running)
    return tf.stack(found)


def tf_buggy(r: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return lambda_return(r, v, 1 - LAMBDA)


def tf_fixed(r: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return lambda_return(r, v, LAMBDA)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(7, 2)).astype(np.float32) for name in ("r", "v")}
