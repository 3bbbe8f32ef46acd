"""The trace coefficient of V-trace without its clip."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "vtrace_trace_not_clipped"
KIND = "returns"
SUBJECT = "function"
TITLE = "The trace coefficient of V-trace without its clip"
SYMPTOM = "Targets explode as soon as the behaviour policy is old"
WHY = "c = min(1, ratio) became the ratio itself"
CAUSE = "clip-missing"
FIX = "tf.minimum(1.0, ratio) in the trace as well"
PLACE = "output"


GAMMA = 0.95


def torch_side(ratio: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
    clipped = ratio.clamp(max=1.0)
    running, found = torch.zeros_like(delta[0]), []
    for t in reversed(range(len(delta))):
        running = clipped[t] * delta[t] + GAMMA * clipped[t] * running
        found.insert(0, running)
    return torch.stack(found)


def vtrace(rho: tf.Tensor, c: tf.Tensor, delta: tf.Tensor) -> tf.Tensor:
    running, found = tf.zeros_like(delta[0]), []
    for t in reversed(range(delta.shape[0])):
        running = rho[t] * delta[t] + GAMMA * c[t] * running
        found.insert(0, running)
    return tf.stack(found)


def tf_buggy(ratio: tf.Tensor, delta: tf.Tensor) -> tf.Tensor:
    return vtrace(tf.minimum(ratio, 1.0), ratio, delta)


def tf_fixed(ratio: tf.Tensor, delta: tf.Tensor) -> tf.Tensor:
    clipped = tf.minimum(ratio, 1.0)
    return vtrace(clipped, clipped, delta)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "ratio": np.exp(rng.normal(size=(6, 3))).astype(np.float32),
        "delta": rng.normal(size=(6, 3)).astype(np.float32),
    }
