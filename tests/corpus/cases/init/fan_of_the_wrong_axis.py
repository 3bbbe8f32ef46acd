"""An initial range computed from the number of outputs."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
import torch

ID = "fan_of_the_wrong_axis"
KIND = "init"
SUBJECT = "function"
TITLE = "An initial range computed from the number of outputs"
SYMPTOM = "Wide layers start too small, narrow ones too large"
WHY = "The kernel was transposed to [in, out], but the fan is still read from axis 1"
CAUSE = "operation-order|constant-factor|constant|axis-order"
FIX = "math.sqrt(6.0 / kernel.shape[0])"
PLACE = "output"


def torch_side(uniform: torch.Tensor) -> torch.Tensor:
    weight = (2 * uniform - 1) * math.sqrt(6.0 / uniform.shape[1])
    return weight.t()


def tf_buggy(uniform: tf.Tensor) -> tf.Tensor:
    kernel = tf.transpose(2 * uniform - 1)
    return kernel * math.sqrt(6.0 / kernel.shape[1])


def tf_fixed(uniform: tf.Tensor) -> tf.Tensor:
    kernel = tf.transpose(2 * uniform - 1)
    return kernel * math.sqrt(6.0 / kernel.shape[0])


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"uniform": np.random.default_rng(seed).uniform(size=(9, 5)).astype(np.float32)}
