"""All parallel environments with one seed."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "environments_share_a_seed"
KIND = "rng"
SUBJECT = "function"
TITLE = "All parallel environments with one seed"
SYMPTOM = "Slow convergence and no error: eight environments collect one environment's data"
WHY = "The seed is the same number for every environment"
CAUSE = "shared-seed|random-stream|repeated-value"
FIX = "seed + i for environment i"
PLACE = "output"


COUNT = 4


def starts(seeds: list[int]) -> np.ndarray:
    return np.stack([np.random.default_rng(seed).uniform(-0.05, 0.05, 3) for seed in seeds])


def torch_side(scale: torch.Tensor, seed: torch.Tensor) -> torch.Tensor:
    states = starts([int(seed) + i for i in range(COUNT)])
    return scale * torch.from_numpy(states).to(scale.dtype)


def tf_buggy(scale: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    return scale * tf.constant(starts([int(seed)] * COUNT), scale.dtype)


def tf_fixed(scale: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    return scale * tf.constant(starts([int(seed) + i for i in range(COUNT)]), scale.dtype)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"scale": np.float32([1.0, 2.0, 4.0]), "seed": np.int64(100 + seed)}
