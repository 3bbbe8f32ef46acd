"""A similarity negated twice."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "cosine_already_negative"
KIND = "loss"
SUBJECT = "function"
TITLE = "A similarity negated twice"
SYMPTOM = "Representations are pushed apart instead of together"
WHY = "keras.losses.cosine_similarity is the negative cosine already"
CAUSE = "sign"
FIX = "keras.losses.cosine_similarity(a, b), without a minus"
PLACE = "output"


def torch_side(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return -F.cosine_similarity(a, b, dim=-1)


def tf_buggy(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    return -keras.losses.cosine_similarity(a, b)


def tf_fixed(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    return keras.losses.cosine_similarity(a, b)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(6, 9)).astype(np.float32) for name in ("a", "b")}
