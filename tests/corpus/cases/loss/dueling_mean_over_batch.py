"""The advantages are centred over the batch."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "dueling_mean_over_batch"
KIND = "loss"
SUBJECT = "function"
TITLE = "The advantages are centred over the batch"
SYMPTOM = "The value of a state depends on which other states are in the batch"
WHY = "The mean is over actions, axis -1"
CAUSE = "reduction-axis"
FIX = "advantage - tf.reduce_mean(advantage, axis=-1, keepdims=True)"
PLACE = "output"


def torch_side(value: torch.Tensor, advantage: torch.Tensor) -> torch.Tensor:
    return value + advantage - advantage.mean(dim=-1, keepdim=True)


def tf_buggy(value: tf.Tensor, advantage: tf.Tensor) -> tf.Tensor:
    return value + advantage - tf.reduce_mean(advantage, axis=0, keepdims=True)


def tf_fixed(value: tf.Tensor, advantage: tf.Tensor) -> tf.Tensor:
    return value + advantage - tf.reduce_mean(advantage, axis=-1, keepdims=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "value": rng.normal(size=(6, 1)).astype(np.float32),
        "advantage": rng.normal(size=(6, 4)).astype(np.float32),
    }
