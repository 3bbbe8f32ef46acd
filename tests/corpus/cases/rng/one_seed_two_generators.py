"""One seed, two generators."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "one_seed_two_generators"
KIND = "rng"
SUBJECT = "function"
TITLE = "One seed, two generators"
SYMPTOM = "Nothing matches although both sides are seeded alike"
WHY = "Each framework turns a seed into its own numbers, and so does each version"
CAUSE = "random-stream"
FIX = "Draw with one NumPy generator, or parity.random, and hand the numbers to both sides"
PLACE = "output"


def torch_side(mean: torch.Tensor, seed: torch.Tensor) -> torch.Tensor:
    noise = np.random.default_rng(int(seed)).normal(size=tuple(mean.shape))
    return mean + 0.1 * torch.from_numpy(noise).to(mean.dtype)


def tf_buggy(mean: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    return mean + 0.1 * tf.random.stateless_normal(mean.shape, [int(seed), 0], dtype=mean.dtype)


def tf_fixed(mean: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    noise = np.random.default_rng(int(seed)).normal(size=tuple(mean.shape))
    return mean + 0.1 * tf.constant(noise, mean.dtype)


def inputs(seed: int) -> dict[str, np.ndarray]:
    mean = np.random.default_rng(seed).normal(size=(4, 2)).astype(np.float32)
    return {"mean": mean, "seed": np.int64(seed + 9)}
