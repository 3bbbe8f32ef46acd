"""A weighted cross-entropy averaged over the batch instead of the weights."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "class_weights_normalised"
KIND = "loss"
SUBJECT = "function"
TITLE = "A weighted cross-entropy averaged over the batch instead of the weights"
SYMPTOM = "The loss is off by a factor that changes with the labels in the batch"
WHY = "torch divides by the sum of the chosen weights, Keras by the number of rows"
CAUSE = "weighted-mean"
FIX = "tf.reduce_sum(weight * loss) / tf.reduce_sum(weight)"
PLACE = "output"


WEIGHTS = (0.5, 2.0, 1.0, 4.0)


def torch_side(logits: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits, label, weight=torch.tensor(WEIGHTS, dtype=logits.dtype))


def weighted(logits: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    each = keras.losses.sparse_categorical_crossentropy(label, logits, from_logits=True)
    weight = tf.gather(tf.constant(WEIGHTS, logits.dtype), label)
    return each * weight, weight


def tf_buggy(logits: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(weighted(logits, label)[0])


def tf_fixed(logits: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    each, weight = weighted(logits, label)
    return tf.reduce_sum(each) / tf.reduce_sum(weight)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = rng.permutation([0, 0, 1, 1, 1, 2, 3, 3, 3, 3])
    return {"logits": rng.normal(size=(10, 4)).astype(np.float32), "label": label}
