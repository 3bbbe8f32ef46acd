"""Grey is the plain mean of the colours instead of a weighted one."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "colours_averaged"
KIND = "data-layout"
SUBJECT = "function"
TITLE = "Grey is the plain mean of the colours instead of a weighted one"
SYMPTOM = "Frames look alike to the eye; red and blue things have other brightness"
WHY = "The weights of the eye were replaced by a mean over the channels"
CAUSE = "missing-factor|weighted-mean"
FIX = "tf.reduce_sum(frame * weights, axis=-1)"
PLACE = "output"


WEIGHTS = (0.2125, 0.7154, 0.0721)


def torch_side(frame: torch.Tensor) -> torch.Tensor:
    return (frame * torch.tensor(WEIGHTS, dtype=frame.dtype)).sum(-1)


def tf_buggy(frame: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(frame, axis=-1)


def tf_fixed(frame: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(frame * tf.constant(WEIGHTS, frame.dtype), axis=-1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"frame": np.random.default_rng(seed).random(size=(4, 6, 5, 3)).astype(np.float32)}
