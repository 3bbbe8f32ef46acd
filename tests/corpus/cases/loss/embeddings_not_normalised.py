"""The similarities of a contrastive loss are those of embeddings of any length."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "embeddings_not_normalised"
KIND = "loss"
SUBJECT = "function"
TITLE = "The similarities of a contrastive loss are those of embeddings of any length"
SYMPTOM = "The loss explodes, or falls while the embeddings only grow"
WHY = "F.normalize on both views became nothing: a product is not a cosine"
CAUSE = "missing-operation|normalisation"
FIX = "tf.math.l2_normalize(view, axis=-1) on both views"
PLACE = "output"


def torch_side(view: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    view, other = F.normalize(view, dim=-1), F.normalize(other, dim=-1)
    scores = view @ other.T / 0.2
    return F.cross_entropy(scores, torch.arange(len(scores)))


def loss(view: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    scores = tf.matmul(view, other, transpose_b=True) / 0.2
    same = tf.range(tf.shape(scores)[0])
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=same, logits=scores)
    return tf.reduce_mean(each)


def tf_buggy(view: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    return loss(view, other)


def tf_fixed(view: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    return loss(tf.math.l2_normalize(view, -1), tf.math.l2_normalize(other, -1))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {n: rng.normal(size=(9, 4)).astype(np.float32) / 3 for n in ("view", "other")}
