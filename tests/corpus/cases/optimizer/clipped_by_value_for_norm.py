"""Gradients clipped by value in place of by their norm."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "clipped_by_value_for_norm"
KIND = "optimizer"
SUBJECT = "function"
TITLE = "Gradients clipped by value in place of by their norm"
SYMPTOM = "Updates of large gradients have another direction; small ones agree"
WHY = "clip_grad_norm_ scales the whole gradient, tf.clip_by_value cuts each number"
CAUSE = "gradient-clipping"
FIX = "tf.clip_by_norm(gradient, 0.3)"
PLACE = "output/value"


def torch_side(weight: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    parameter = torch.nn.Parameter(weight.detach().clone())
    parameter.grad = gradient.detach().clone()
    torch.nn.utils.clip_grad_norm_([parameter], 0.3)
    return weight - 0.05 * parameter.grad


def tf_buggy(weight: tf.Tensor, gradient: tf.Tensor) -> tf.Tensor:
    return weight - 0.05 * tf.stop_gradient(tf.clip_by_value(gradient, -0.3, 0.3))


def tf_fixed(weight: tf.Tensor, gradient: tf.Tensor) -> tf.Tensor:
    scale = tf.minimum(0.3 / (tf.norm(gradient) + 1e-6), tf.ones((), gradient.dtype))
    return weight - 0.05 * tf.stop_gradient(gradient * scale)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {n: rng.normal(size=(3, 5)).astype(np.float32) for n in ("weight", "gradient")}
