"""NumPy noise drawn inside a traced function."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "noise_frozen"
KIND = "graph"
SUBJECT = "function"
TITLE = "NumPy noise drawn inside a traced function"
SYMPTOM = "The first action is noisy as it should be, and so are all others, with the same noise"
WHY = "NumPy runs while tracing only; the drawn numbers become constants of the graph"
CAUSE = "frozen-state"
FIX = "Draw outside and pass the noise as an argument, or use tf.random"
PLACE = "output/1"


def torch_side(mean: torch.Tensor) -> list[torch.Tensor]:
    rng = np.random.default_rng(41)
    return [mean + 0.3 * torch.from_numpy(rng.normal(size=3)).to(mean.dtype) for _ in range(3)]


def tf_buggy(mean: tf.Tensor) -> list[tf.Tensor]:
    rng = np.random.default_rng(41)

    @tf.function
    def act(mean: tf.Tensor) -> tf.Tensor:
        return mean + 0.3 * tf.constant(rng.normal(size=3), mean.dtype)

    return [act(mean) for _ in range(3)]


def tf_fixed(mean: tf.Tensor) -> list[tf.Tensor]:
    rng = np.random.default_rng(41)

    @tf.function
    def act(mean: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
        return mean + 0.3 * noise

    return [act(mean, tf.constant(rng.normal(size=3), mean.dtype)) for _ in range(3)]


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"mean": np.random.default_rng(seed).normal(size=3).astype(np.float32)}
