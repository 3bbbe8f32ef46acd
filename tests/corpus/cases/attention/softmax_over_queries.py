"""Attention weights normalised over the queries."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "softmax_over_queries"
KIND = "attention"
SUBJECT = "function"
TITLE = "Attention weights normalised over the queries"
SYMPTOM = "Every key spends a total of 1 instead of every query"
WHY = "The softmax runs over axis -2 of [query, key]"
CAUSE = "softmax-axis|reduction-axis|switch"
FIX = "tf.nn.softmax(scores, axis=-1)"
PLACE = "output"


def torch_side(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    weights = torch.softmax(torch.einsum("bqd,bkd->bqk", q, k), dim=-1)
    return torch.einsum("bqk,bkd->bqd", weights, v)


def attend(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor, axis: int) -> tf.Tensor:
    weights = tf.nn.softmax(tf.einsum("bqd,bkd->bqk", q, k), axis=axis)
    return tf.einsum("bqk,bkd->bqd", weights, v)


def tf_buggy(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return attend(q, k, v, axis=-2)


def tf_fixed(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return attend(q, k, v, axis=-1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "q": rng.normal(size=(3, 4, 5)).astype(np.float32),
        "k": rng.normal(size=(3, 6, 5)).astype(np.float32),
        "v": rng.normal(size=(3, 6, 2)).astype(np.float32),
    }
