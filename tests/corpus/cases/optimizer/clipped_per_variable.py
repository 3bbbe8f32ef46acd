"""Gradients clipped one by one instead of together."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "clipped_per_variable"
KIND = "optimizer"
SUBJECT = "function"
TITLE = "Gradients clipped one by one instead of together"
SYMPTOM = "The update's direction changes whenever the clip bites"
WHY = "clip_grad_norm_ scales all gradients by one factor, clip_by_norm each by its own"
CAUSE = "gradient-clipping"
FIX = "tf.clip_by_global_norm(gradients, 0.5)"
PLACE = "output"


LIMIT = 0.5


def torch_side(kernel: torch.Tensor, bias: torch.Tensor) -> list[torch.Tensor]:
    norm = torch.sqrt(kernel.square().sum() + bias.square().sum())
    scale = torch.clamp(LIMIT / norm, max=1.0)
    return [kernel * scale, bias * scale]


def tf_buggy(kernel: tf.Tensor, bias: tf.Tensor) -> list[tf.Tensor]:
    return [tf.clip_by_norm(kernel, LIMIT), tf.clip_by_norm(bias, LIMIT)]


def tf_fixed(kernel: tf.Tensor, bias: tf.Tensor) -> list[tf.Tensor]:
    return tf.clip_by_global_norm([kernel, bias], LIMIT)[0]


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "kernel": rng.normal(size=(4, 3)).astype(np.float32),
        "bias": rng.normal(scale=0.05, size=3).astype(np.float32),
    }
