"""Epsilon added under the root instead of behind it."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "epsilon_under_the_root"
KIND = "numerics"
SUBJECT = "function"
TITLE = "Epsilon added under the root instead of behind it"
SYMPTOM = "Agreement for spread-out features, a few per cent where they hardly vary"
WHY = "x / (std + eps) against x / sqrt(var + eps)"
CAUSE = "epsilon-placement"
FIX = "centred / (tf.sqrt(variance) + 1e-3)"
PLACE = "output"


EPSILON = 1e-3


def torch_side(x: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True).sqrt() + EPSILON)


def standardised(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    centred = x - tf.reduce_mean(x, -1, keepdims=True)
    return centred, tf.reduce_mean(tf.square(centred), -1, keepdims=True)


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    centred, variance = standardised(x)
    return centred / tf.sqrt(variance + EPSILON)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    centred, variance = standardised(x)
    return centred / (tf.sqrt(variance) + EPSILON)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(scale=0.2, size=(4, 7)).astype(np.float32)}
