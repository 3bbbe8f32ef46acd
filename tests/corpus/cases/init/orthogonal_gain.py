"""An orthogonal initialisation without its gain."""

from __future__ import annotations

import math

import keras
import numpy as np
import tensorflow as tf
import torch

ID = "orthogonal_gain"
KIND = "init"
SUBJECT = "function"
TITLE = "An orthogonal initialisation without its gain"
SYMPTOM = "Early activations shrink from layer to layer"
WHY = "The reference uses gain sqrt(2) for ReLU layers, Keras's default is 1"
CAUSE = "initializer-gain"
FIX = "keras.initializers.Orthogonal(gain=math.sqrt(2.0))"
PLACE = "output"
FLOAT64 = False


def torch_side(x: torch.Tensor) -> torch.Tensor:
    weight = torch.empty(8, x.shape[-1])
    torch.nn.init.orthogonal_(weight, gain=math.sqrt(2.0))
    return weight.t() @ weight


def gram(x: tf.Tensor, gain: float) -> tf.Tensor:
    kernel = keras.initializers.Orthogonal(gain, seed=2)((x.shape[-1], 8), dtype="float32")
    return tf.matmul(kernel, kernel, transpose_b=True)


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return gram(x, 1.0)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return gram(x, math.sqrt(2.0))


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(2, 5)).astype(np.float32)}
