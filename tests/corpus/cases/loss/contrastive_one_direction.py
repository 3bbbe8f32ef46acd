"""Only one direction of a symmetric contrastive loss."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "contrastive_one_direction"
KIND = "loss"
SUBJECT = "function"
TITLE = "Only one direction of a symmetric contrastive loss"
SYMPTOM = "One encoder learns well and the other hardly at all"
WHY = "The torch loss averages rows and columns"
CAUSE = "missing-term"
FIX = "0.5 * (rows + columns)"
PLACE = "output"


def torch_side(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    scores = F.normalize(a, dim=1) @ F.normalize(b, dim=1).T / 0.2
    label = torch.arange(len(a))
    return 0.5 * (F.cross_entropy(scores, label) + F.cross_entropy(scores.T, label))


def scores_of(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    return (
        tf.matmul(
            tf.math.l2_normalize(a, axis=1), tf.math.l2_normalize(b, axis=1), transpose_b=True
        )
        / 0.2
    )


def one_way(scores: tf.Tensor) -> tf.Tensor:
    label = tf.range(scores.shape[0])
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(label, scores))


def tf_buggy(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    return one_way(scores_of(a, b))


def tf_fixed(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    scores = scores_of(a, b)
    return 0.5 * (one_way(scores) + one_way(tf.transpose(scores)))


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {n: rng.normal(size=(5, 4)).astype(np.float32) for n in ("a", "b")}
