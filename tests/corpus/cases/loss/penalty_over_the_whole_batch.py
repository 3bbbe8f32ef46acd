"""A gradient penalty on the norm of the whole batch."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "penalty_over_the_whole_batch"
KIND = "loss"
SUBJECT = "function"
TITLE = "A gradient penalty on the norm of the whole batch"
SYMPTOM = "The penalty depends on the batch size"
WHY = "Each row has a norm of its own"
CAUSE = "reduction-axis|norm-kind"
FIX = "tf.norm(slope, axis=1)"
PLACE = "output"


def torch_side(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    x = x if x.requires_grad else x.detach().requires_grad_()
    (slope,) = torch.autograd.grad(torch.tanh(x @ w).sum(), x, create_graph=True)
    return ((slope.norm(dim=1) - 1) ** 2).mean()


def slope_of(x: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.tanh(tf.matmul(x, w)))
    return tape.gradient(y, x)


def tf_buggy(x: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean((tf.norm(slope_of(x, w)) - 1.0) ** 2)


def tf_fixed(x: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean((tf.norm(slope_of(x, w), axis=1) - 1.0) ** 2)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "x": rng.normal(size=(6, 3)).astype(np.float32),
        "w": rng.normal(size=(3, 4)).astype(np.float32),
    }
