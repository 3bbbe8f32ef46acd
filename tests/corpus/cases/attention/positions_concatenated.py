"""Sines and cosines side by side instead of alternating."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "positions_concatenated"
KIND = "attention"
SUBJECT = "function"
TITLE = "Sines and cosines side by side instead of alternating"
SYMPTOM = "Position vectors have the right length and the right numbers in the wrong places"
WHY = "Even columns hold the sine and odd ones the cosine; the port has all sines first"
CAUSE = "element-order"
FIX = "tf.reshape(tf.stack([tf.sin(a), tf.cos(a)], -1), [steps, width])"
PLACE = "output"


WIDTH = 8


def torch_side(position: torch.Tensor) -> torch.Tensor:
    rates = 1e4 ** (-torch.arange(0, WIDTH, 2, dtype=position.dtype) / WIDTH)
    angles = position[:, None] * rates
    table = torch.zeros(len(position), WIDTH, dtype=position.dtype)
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles)
    return table


def angles_of(position: tf.Tensor) -> tf.Tensor:
    exponents = tf.range(0, WIDTH, 2, dtype=position.dtype) / WIDTH
    return position[:, None] * tf.pow(tf.constant(1e4, position.dtype), -exponents)


def tf_buggy(position: tf.Tensor) -> tf.Tensor:
    angles = angles_of(position)
    return tf.concat([tf.sin(angles), tf.cos(angles)], axis=-1)


def tf_fixed(position: tf.Tensor) -> tf.Tensor:
    angles = angles_of(position)
    return tf.reshape(tf.stack([tf.sin(angles), tf.cos(angles)], -1), [-1, WIDTH])


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"position": rng.permutation(20)[:7].astype(np.float32)}
