"""Sines and cosines joined in place of taken in turn."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "waves_joined_not_interleaved"
KIND = "data-layout"
SUBJECT = "function"
TITLE = "Sines and cosines joined in place of taken in turn"
SYMPTOM = "Each position has the right numbers at other places; trained weights do not fit"
WHY = "torch fills every second column; the port concatenates the two halves"
CAUSE = "element-order"
FIX = "tf.reshape(tf.stack([sine, cosine], -1), (steps, width))"
PLACE = "output/value"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    steps, width = x.shape
    angle = torch.arange(steps, dtype=x.dtype)[:, None] / 50.0 ** (
        torch.arange(0, width, 2, dtype=x.dtype) / width
    )
    code = torch.empty(steps, width, dtype=x.dtype)
    code[:, 0::2] = torch.sin(angle)
    code[:, 1::2] = torch.cos(angle)
    return x * 2.0 + code


def encoded(x: tf.Tensor, joined: bool) -> tf.Tensor:
    steps, width = x.shape
    angle = tf.cast(tf.range(steps), x.dtype)[:, None] / 50.0 ** (
        tf.cast(tf.range(0, width, 2), x.dtype) / width
    )
    waves = [tf.sin(angle), tf.cos(angle)]
    code = tf.concat(waves, -1) if joined else tf.reshape(tf.stack(waves, -1), (steps, width))
    return x * 2.0 + code


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return encoded(x, joined=True)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return encoded(x, joined=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(5, 6)).astype(np.float32)}
