"""A replay buffer that samples from its first rows only."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "buffer_size_frozen"
KIND = "graph"
SUBJECT = "function"
TITLE = "A replay buffer that samples from its first rows only"
SYMPTOM = "Every batch holds the same early transitions, however full the buffer is"
WHY = "The Python integer that counts the rows was captured while tracing"
CAUSE = "frozen-state"
FIX = "Keep the size in a tf.Variable, or pass it as a tensor"
PLACE = "output/1"


SIZES = (2, 5, 9)


def torch_side(rows: torch.Tensor, draw: torch.Tensor) -> list[torch.Tensor]:
    return [rows[(draw * size).long()] for size in SIZES]


class Buffer(tf.Module):
    def __init__(self, rows: tf.Tensor, size: int | tf.Variable) -> None:
        super().__init__()
        self.rows, self.size = rows, size

    @tf.function
    def sample(self, draw: tf.Tensor) -> tf.Tensor:
        scaled = draw * tf.cast(self.size, draw.dtype)
        return tf.gather(self.rows, tf.cast(scaled, tf.int64))


def tf_buggy(rows: tf.Tensor, draw: tf.Tensor) -> list[tf.Tensor]:
    buffer, found = Buffer(rows, 0), []
    for buffer.size in SIZES:
        found.append(buffer.sample(draw))
    return found


def tf_fixed(rows: tf.Tensor, draw: tf.Tensor) -> list[tf.Tensor]:
    buffer, found = Buffer(rows, tf.Variable(0)), []
    for size in SIZES:
        buffer.size.assign(size)
        found.append(buffer.sample(draw))
    return found


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "rows": rng.normal(size=(9, 2)).astype(np.float32),
        "draw": rng.uniform(size=6).astype(np.float32),
    }
