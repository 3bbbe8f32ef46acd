"""ReLU written as a maximum, at exactly zero."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "relu_as_maximum"
KIND = "gradient"
SUBJECT = "function"
TITLE = "ReLU written as a maximum, at exactly zero"
SYMPTOM = "Units whose input is exactly 0 receive a gradient on one side only"
WHY = "tf.maximum(x, 0) passes the gradient at 0, relu blocks it"
CAUSE = "kink-gradient"
FIX = "tf.nn.relu(x)"
PLACE = "grad/x"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x)


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return tf.maximum(x, 0.0)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.relu(x)


def inputs(seed: int) -> dict[str, np.ndarray]:
    x = np.random.default_rng(seed).normal(size=(5, 4))
    x[::2, 1] = 0.0
    return {"x": x.astype(np.float32)}
