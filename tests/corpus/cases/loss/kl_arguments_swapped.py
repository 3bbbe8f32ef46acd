"""The two distributions of a divergence exchanged."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "kl_arguments_swapped"
KIND = "loss"
SUBJECT = "function"
TITLE = "The two distributions of a divergence exchanged"
SYMPTOM = "Close to right while both policies are alike, wrong as they part"
WHY = "KL(new || old) for KL(old || new): torch and Keras list their arguments in different orders"
CAUSE = "argument-order|operand-order"
FIX = "keras.losses.kl_divergence(p, q)"
PLACE = "output"


def torch_side(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    p, q = torch.softmax(old, -1), torch.softmax(new, -1)
    return F.kl_div(q.log(), p, reduction="none").sum(-1)


def tf_buggy(old: tf.Tensor, new: tf.Tensor) -> tf.Tensor:
    p, q = tf.nn.softmax(old), tf.nn.softmax(new)
    return keras.losses.kl_divergence(q, p)


def tf_fixed(old: tf.Tensor, new: tf.Tensor) -> tf.Tensor:
    p, q = tf.nn.softmax(old), tf.nn.softmax(new)
    return keras.losses.kl_divergence(p, q)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(5, 6)).astype(np.float32) for name in ("old", "new")}
