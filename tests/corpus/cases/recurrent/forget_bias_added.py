"""A forget bias added at run time."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "forget_bias_added"
KIND = "recurrent"
SUBJECT = "function"
TITLE = "A forget bias added at run time"
SYMPTOM = "The cell state is too large from the first step that has one"
WHY = (
    "The old tf.nn cell adds 1 to the forget gate as it runs; with copied weights that is "
    "once too often"
)
CAUSE = "forget-bias|extra-term"
FIX = "tf.sigmoid(f), or forget_bias=0.0"
PLACE = "output/1"


def torch_side(z: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    i, f, g, o = z.chunk(4, dim=-1)
    gated = torch.tanh(g) * torch.sigmoid(i)
    c = torch.sigmoid(f) * c + gated
    return gated, torch.sigmoid(o) * torch.tanh(c)


def cell(z: tf.Tensor, c: tf.Tensor, forget_bias: float) -> tuple[tf.Tensor, tf.Tensor]:
    i, f, g, o = tf.split(z, 4, axis=-1)
    gated = tf.tanh(g) * tf.sigmoid(i)
    c = tf.sigmoid(f + forget_bias) * c + gated
    return gated, tf.sigmoid(o) * tf.tanh(c)


def tf_buggy(z: tf.Tensor, c: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return cell(z, c, forget_bias=1.0)


def tf_fixed(z: tf.Tensor, c: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return cell(z, c, forget_bias=0.0)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "z": rng.normal(size=(5, 12)).astype(np.float32),
        "c": rng.normal(size=(5, 3)).astype(np.float32),
    }
