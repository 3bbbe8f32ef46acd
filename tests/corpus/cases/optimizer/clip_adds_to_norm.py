"""The small number that clip_grad_norm_ adds."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "clip_adds_to_norm"
KIND = "optimizer"
SUBJECT = "function"
TITLE = "The small number that clip_grad_norm_ adds"
SYMPTOM = "Clipped updates differ by 1e-6 at norm 1 and by a per cent at norm 1e-4"
WHY = "torch divides by norm + 1e-6, TensorFlow by the norm"
CAUSE = "epsilon-value|gradient-clipping|missing-term"
FIX = "scale = tf.minimum(1.0, limit / (norm + 1e-6))"
PLACE = "output"


LIMIT = 2e-4


def torch_side(gradient: torch.Tensor) -> torch.Tensor:
    parameter = torch.nn.Parameter(torch.zeros_like(gradient))
    parameter.grad = gradient.detach().clone()
    torch.nn.utils.clip_grad_norm_([parameter], LIMIT)
    return parameter.grad / LIMIT


def tf_buggy(gradient: tf.Tensor) -> tf.Tensor:
    gradient = tf.stop_gradient(gradient)
    return tf.clip_by_global_norm([gradient], LIMIT)[0][0] / LIMIT


def tf_fixed(gradient: tf.Tensor) -> tf.Tensor:
    gradient = tf.stop_gradient(gradient)
    norm = tf.sqrt(tf.reduce_sum(tf.square(gradient)))
    return gradient * tf.minimum(1.0, LIMIT / (norm + 1e-6)) / LIMIT


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"gradient": rng.normal(scale=3e-4, size=(5, 3)).astype(np.float32)}
