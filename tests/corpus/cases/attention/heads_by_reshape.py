"""Heads separated with a reshape alone."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "heads_by_reshape"
KIND = "attention"
SUBJECT = "function"
TITLE = "Heads separated with a reshape alone"
SYMPTOM = "Each head sees pieces of several time steps"
WHY = "[B, T, heads * depth] must become [B, T, heads, depth] first and then be transposed"
CAUSE = "reshape-for-transpose|reshape-not-transpose"
FIX = "tf.transpose(tf.reshape(x, [b, t, heads, depth]), [0, 2, 1, 3])"
PLACE = "output"


HEADS = 2


def torch_side(x: torch.Tensor) -> torch.Tensor:
    b, t, width = x.shape
    return x.view(b, t, HEADS, width // HEADS).transpose(1, 2)


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    b, t, width = x.shape
    return tf.reshape(x, [b, HEADS, t, width // HEADS])


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    b, t, width = x.shape
    return tf.transpose(tf.reshape(x, [b, t, HEADS, width // HEADS]), [0, 2, 1, 3])


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(3, 5, 6)).astype(np.float32)}
