"""A Python counter inside a traced function."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "counter_frozen"
KIND = "graph"
SUBJECT = "function"
TITLE = "A Python counter inside a traced function"
SYMPTOM = "Warm-up never ends: the scale of the first call is used for ever"
WHY = "self.calls += 1 runs while tracing, not when the graph runs"
CAUSE = "frozen-state"
FIX = "self.calls = tf.Variable(0), counted with assign_add"
PLACE = "output/1"


def torch_side(gradient: torch.Tensor) -> list[torch.Tensor]:
    return [gradient * min(1.0, call / 4) for call in range(1, 5)]


class Warm(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    @tf.function
    def __call__(self, gradient: tf.Tensor) -> tf.Tensor:
        self.calls += 1
        return gradient * min(1.0, self.calls / 4)


class CountingWarm(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = tf.Variable(0)

    @tf.function
    def __call__(self, gradient: tf.Tensor) -> tf.Tensor:
        self.calls.assign_add(1)
        return gradient * tf.minimum(tf.cast(self.calls, gradient.dtype) / 4, 1.0)


def tf_buggy(gradient: tf.Tensor) -> list[tf.Tensor]:
    warm = Warm()
    return [warm(gradient) for _ in range(4)]


def tf_fixed(gradient: tf.Tensor) -> list[tf.Tensor]:
    warm = CountingWarm()
    return [warm(gradient) for _ in range(4)]


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"gradient": np.random.default_rng(seed).normal(size=(3, 2)).astype(np.float32)}
