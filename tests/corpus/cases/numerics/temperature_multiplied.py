"""Logits multiplied by the temperature instead of divided."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "temperature_multiplied"
KIND = "numerics"
SUBJECT = "function"
TITLE = "Logits multiplied by the temperature instead of divided"
SYMPTOM = "A higher temperature makes samples less diverse"
WHY = "softmax(x / t) became softmax(x * t)"
CAUSE = "other-operation"
FIX = "tf.nn.softmax(logits / TEMPERATURE)"
PLACE = "output"


TEMPERATURE = 2.5


def torch_side(logits: torch.Tensor) -> torch.Tensor:
    return torch.softmax(logits / TEMPERATURE, -1)


def tf_buggy(logits: tf.Tensor) -> tf.Tensor:
    return tf.nn.softmax(logits * TEMPERATURE)


def tf_fixed(logits: tf.Tensor) -> tf.Tensor:
    return tf.nn.softmax(logits / TEMPERATURE)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"logits": np.random.default_rng(seed).normal(size=(6, 5)).astype(np.float32)}
