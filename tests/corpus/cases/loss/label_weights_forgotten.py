"""One weight for each class on the torch side, none on the other."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
from torch import nn

ID = "label_weights_forgotten"
KIND = "loss"
SUBJECT = "function"
TITLE = "One weight for each class on the torch side, none on the other"
SYMPTOM = "Frequent classes win; the loss is off by another amount for each batch"
WHY = "nn.CrossEntropyLoss(weight=...) weighs each row by its label; the port averages the rows"
CAUSE = "class-weight"
FIX = "tf.reduce_sum(tf.gather(weights, label) * loss) / tf.reduce_sum(tf.gather(weights, label))"
PLACE = "output"


WEIGHTS = torch.tensor([0.25, 1.0, 3.0])


def torch_side(logits: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    return nn.CrossEntropyLoss(weight=WEIGHTS.to(logits.dtype))(logits, label)


def tf_buggy(logits: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits)
    return tf.reduce_mean(each)


def tf_fixed(logits: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits)
    weight = tf.gather(tf.constant(WEIGHTS.numpy(), logits.dtype), label)
    return tf.reduce_sum(weight * each) / tf.reduce_sum(weight)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = rng.permutation([0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    return {"logits": rng.normal(size=(11, 3)).astype(np.float32), "label": label}
