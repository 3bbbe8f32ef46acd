"""Forget biases that start at one."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "unit_forget_bias"
KIND = "init"
SUBJECT = "function"
TITLE = "Forget biases that start at one"
SYMPTOM = "A fresh Keras LSTM remembers longer than a fresh torch one"
WHY = "unit_forget_bias=True is Keras's default; the torch code sets all biases to zero"
CAUSE = "forget-bias"
FIX = "keras.layers.LSTM(4, unit_forget_bias=False)"
PLACE = "output"
FLOAT64 = False


def torch_side(x: torch.Tensor) -> torch.Tensor:
    lstm = nn.LSTM(x.shape[-1], 4)
    nn.init.zeros_(lstm.bias_ih_l0)
    nn.init.zeros_(lstm.bias_hh_l0)
    return torch.cat([x.mean().view(1), (lstm.bias_ih_l0 + lstm.bias_hh_l0).detach()])


def fresh(x: tf.Tensor, **settings: bool) -> tf.Tensor:
    lstm = keras.layers.LSTM(4, dtype="float32", **settings)
    lstm.build((None, None, x.shape[-1]))
    return tf.concat([tf.reduce_mean(x)[None], tf.convert_to_tensor(lstm.cell.bias)], axis=0)


def tf_buggy(x: tf.Tensor) -> tf.Tensor:
    return fresh(x)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return fresh(x, unit_forget_bias=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(5, 3)).astype(np.float32)}
