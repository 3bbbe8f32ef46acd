"""Target noise clipped before it is scaled."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "noise_clipped_before_scaling"
KIND = "rng"
SUBJECT = "function"
TITLE = "Target noise clipped before it is scaled"
SYMPTOM = "Smoothing is weaker than intended"
WHY = "clip(noise * sigma, -c, c) became clip(noise, -c, c) * sigma"
CAUSE = "operation-order|other-operand"
FIX = "tf.clip_by_value(0.4 * noise, -0.5, 0.5)"
PLACE = "output"


def torch_side(action: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    return action + (0.4 * noise).clamp(-0.5, 0.5)


def tf_buggy(action: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
    return action + 0.4 * tf.clip_by_value(noise, -0.5, 0.5)


def tf_fixed(action: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
    return action + tf.clip_by_value(0.4 * noise, -0.5, 0.5)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(8, 2)).astype(np.float32) for name in ("action", "noise")}
