"""Rotary positions that turn other pairs."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "rotary_pairs_interleaved"
KIND = "attention"
SUBJECT = "function"
TITLE = "Rotary positions that turn other pairs"
SYMPTOM = "Attention with copied weights attends to unrelated positions"
WHY = "One code turns (i, i + d/2), the other (2i, 2i + 1)"
CAUSE = "element-order|split-order|pair-order"
FIX = "first, second = tf.split(x, 2, axis=-1)"
PLACE = "output"


def angles(length: int, depth: int) -> np.ndarray:
    return np.arange(length)[:, None] / 100.0 ** (np.arange(depth // 2) / (depth // 2))


def torch_side(x: torch.Tensor) -> torch.Tensor:
    angle = torch.from_numpy(angles(x.shape[-2], x.shape[-1])).to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    angle = tf.constant(angles(x.shape[-2], x.shape[-1]), x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    cos, sin = tf.cos(angle), tf.sin(angle)
    return tf.concat([first * cos - second * sin, second * cos + first * sin], axis=-1)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    angle = tf.constant(angles(x.shape[-2], x.shape[-1]), x.dtype)
    first, second = tf.split(x, 2, axis=-1)
    cos, sin = tf.cos(angle), tf.sin(angle)
    return tf.concat([first * cos - second * sin, second * cos + first * sin], axis=-1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(2, 5, 6)).astype(np.float32)}
