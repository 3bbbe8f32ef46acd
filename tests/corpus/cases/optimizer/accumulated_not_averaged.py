"""Accumulated gradients not divided by their number."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "accumulated_not_averaged"
KIND = "optimizer"
SUBJECT = "function"
TITLE = "Accumulated gradients not divided by their number"
SYMPTOM = "Steps grow with the number of micro-batches"
WHY = "The torch code divides each micro-batch's loss by their number, the port only adds up"
CAUSE = "constant-factor|loss-reduction"
FIX = "accumulated / number_of_micro_batches"
PLACE = "output"


PARTS = 4


def torch_side(weights: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    step = torch.zeros_like(weights)
    for part in x.chunk(PARTS):
        step = step + 2 * part.t() @ (part @ weights) / len(part) / PARTS
    return weights - 0.1 * step


def accumulated(weights: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    step = tf.zeros_like(weights)
    for part in tf.split(x, PARTS):
        step += 2 * tf.transpose(part) @ (part @ weights) / part.shape[0]
    return step


def tf_buggy(weights: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    return weights - 0.1 * accumulated(weights, x)


def tf_fixed(weights: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    return weights - 0.1 * accumulated(weights, x) / PARTS


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "weights": rng.normal(size=(3, 2)).astype(np.float32),
        "x": rng.normal(size=(8, 3)).astype(np.float32),
    }
