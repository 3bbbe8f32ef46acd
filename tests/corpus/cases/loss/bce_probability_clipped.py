"""Saturated probabilities clipped at 1e-7."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "bce_probability_clipped"
KIND = "loss"
SUBJECT = "function"
TITLE = "Saturated probabilities clipped at 1e-7"
SYMPTOM = "One confident mistake costs 100 in torch and 16 in Keras"
WHY = "Keras clips probabilities to [1e-7, 1 - 1e-7], torch clamps their logarithm at -100"
CAUSE = "log-guard|clip-missing|clip-extra"
FIX = "Use logits on both sides, or write the clamp out: tf.maximum(tf.math.log(p), -100.0)"
PLACE = "output"


def torch_side(p: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    return F.binary_cross_entropy(p, label, reduction="none")


def tf_buggy(p: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    return keras.losses.binary_crossentropy(label[:, None], p[:, None])


def tf_fixed(p: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    yes = tf.maximum(tf.math.log(p), -100.0)
    no = tf.maximum(tf.math.log1p(-p), -100.0)
    return -(label * yes + (1.0 - label) * no)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = np.concatenate([rng.uniform(0.2, 0.8, 5), [1e-9, 1e-8]]).astype(np.float32)
    label = np.array([0, 1, 0, 1, 1, 1, 1], np.float32)
    return {"p": p, "label": label}
