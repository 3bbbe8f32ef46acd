"""Advantages normalised per environment instead of over the whole batch."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "normalised_over_wrong_axis"
KIND = "returns"
SUBJECT = "function"
TITLE = "Advantages normalised per environment instead of over the whole batch"
SYMPTOM = "Good and bad environments look alike to the policy"
WHY = "The mean and the deviation are taken over axis 0 only"
CAUSE = "reduction-axis|normalisation"
FIX = "tf.reduce_mean(advantage), without an axis"
PLACE = "output"


def torch_side(advantage: torch.Tensor) -> torch.Tensor:
    centred = advantage - advantage.mean()
    return centred / (centred.square().mean().sqrt() + 1e-5)


def tf_buggy(advantage: tf.Tensor) -> tf.Tensor:
    centred = advantage - tf.reduce_mean(advantage, axis=0)
    return centred / (tf.sqrt(tf.reduce_mean(tf.square(centred), axis=0)) + 1e-5)


def tf_fixed(advantage: tf.Tensor) -> tf.Tensor:
    centred = advantage - tf.reduce_mean(advantage)
    return centred / (tf.sqrt(tf.reduce_mean(tf.square(centred))) + 1e-5)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"advantage": rng.normal((0.0, 2.0, -1.0), 1.0, (9, 3)).astype(np.float32)}
