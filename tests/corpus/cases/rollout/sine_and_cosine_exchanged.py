"""Sine and cosine of an angle in the other order."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "sine_and_cosine_exchanged"
KIND = "rollout"
SUBJECT = "function"
TITLE = "Sine and cosine of an angle in the other order"
SYMPTOM = "A policy with copied weights balances a pendulum at its side"
WHY = "The observation is (cos, sin, speed) in one environment and (sin, cos, speed) in the other"
CAUSE = "element-order|entries-exchanged|other-operand|other-function"
FIX = "tf.stack([tf.cos(angle), tf.sin(angle), speed], -1)"
PLACE = "output"


def torch_side(angle: torch.Tensor, speed: torch.Tensor) -> torch.Tensor:
    return torch.stack([angle.cos(), angle.sin(), speed], -1)


def tf_buggy(angle: tf.Tensor, speed: tf.Tensor) -> tf.Tensor:
    return tf.stack([tf.sin(angle), tf.cos(angle), speed], -1)


def tf_fixed(angle: tf.Tensor, speed: tf.Tensor) -> tf.Tensor:
    return tf.stack([tf.cos(angle), tf.sin(angle), speed], -1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=8).astype(np.float32) for name in ("angle", "speed")}
