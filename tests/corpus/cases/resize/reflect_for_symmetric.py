"""Reflection that repeats the border."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "reflect_for_symmetric"
KIND = "resize"
SUBJECT = "function"
TITLE = "Reflection that repeats the border"
SYMPTOM = "The rim of a stylised image is doubled"
WHY = "torch's 'reflect' leaves the border out of the mirror image, tf.pad's 'SYMMETRIC' repeats it"
CAUSE = "padding|switch"
FIX = 'tf.pad(image, paddings, mode="REFLECT")'
PLACE = "output"


def torch_side(signal: torch.Tensor) -> torch.Tensor:
    return F.pad(signal, (3, 2), mode="reflect")


def tf_buggy(signal: tf.Tensor) -> tf.Tensor:
    return tf.pad(signal, [[0, 0], [0, 0], [3, 2]], mode="SYMMETRIC")


def tf_fixed(signal: tf.Tensor) -> tf.Tensor:
    return tf.pad(signal, [[0, 0], [0, 0], [3, 2]], mode="REFLECT")


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"signal": np.random.default_rng(seed).normal(size=(2, 4, 7)).astype(np.float32)}
