"""A recurrent policy that remembers the last episode."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "memory_not_reset"
KIND = "state"
SUBJECT = "function"
TITLE = "A recurrent policy that remembers the last episode"
SYMPTOM = "The first actions of an episode depend on how the previous one ended"
WHY = "The hidden state is not set to zero where an episode begins"
CAUSE = "mask-missing"
FIX = "h = h * (1 - begins)[:, None] before the cell"
PLACE = "output"


def torch_side(x: torch.Tensor, begins: torch.Tensor) -> torch.Tensor:
    h, found = torch.zeros_like(x[0]), []
    for t in range(len(x)):
        h = h * (1 - begins[t].to(x.dtype))[:, None]
        h = torch.tanh(0.7 * h + x[t])
        found.append(h)
    return torch.stack(found)


def states(x: tf.Tensor, begins: tf.Tensor) -> tf.Tensor:
    h, found = tf.zeros_like(x[0]), []
    for t in range(x.shape[0]):
        h = h * (1 - tf.cast(begins[t], x.dtype))[:, None]
        h = tf.tanh(0.7 * h + x[t])
        found.append(h)
    return tf.stack(found)


def tf_buggy(x: tf.Tensor, begins: tf.Tensor) -> tf.Tensor:
    return states(x, tf.zeros_like(begins))


def tf_fixed(x: tf.Tensor, begins: tf.Tensor) -> tf.Tensor:
    return states(x, begins)


def inputs(seed: int) -> dict[str, np.ndarray]:
    begins = np.zeros((6, 3), bool)
    begins[0] = begins[2, 1] = begins[4, 0] = True
    x = np.random.default_rng(seed).normal(size=(6, 3, 2)).astype(np.float32)
    return {"x": x, "begins": begins}
