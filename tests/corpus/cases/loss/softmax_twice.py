"""Probabilities handed to a loss that applies softmax itself."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "softmax_twice"
KIND = "loss"
SUBJECT = "function"
TITLE = "Probabilities handed to a loss that applies softmax itself"
SYMPTOM = "The loss starts right and will not fall below a floor"
WHY = "The network ends in a softmax and the loss was told from_logits=True"
CAUSE = "logits-probabilities|extra-operation"
FIX = "from_logits=False, or no softmax in the network"
PLACE = "output"


def torch_side(scores: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    return F.nll_loss(torch.log(torch.softmax(scores, -1)), label)


def tf_buggy(scores: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    probabilities = tf.nn.softmax(scores)
    return tf.reduce_mean(
        keras.losses.sparse_categorical_crossentropy(label, probabilities, from_logits=True)
    )


def tf_fixed(scores: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(
        keras.losses.sparse_categorical_crossentropy(label, scores, from_logits=True)
    )


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "scores": rng.normal(size=(8, 5)).astype(np.float32),
        "label": rng.integers(0, 5, size=8),
    }
