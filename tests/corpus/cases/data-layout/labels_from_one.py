"""Classes counted from one."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "labels_from_one"
KIND = "data-layout"
SUBJECT = "function"
TITLE = "Classes counted from one"
SYMPTOM = "The last class is never right, and the first row of one-hot vectors is empty"
WHY = "The labels of one data set start at 1, one_hot counts from 0"
CAUSE = "off-by-one|missing-operation|missing-term"
FIX = "tf.one_hot(label - 1, classes)"
PLACE = "output"


CLASSES = 5


def torch_side(label: torch.Tensor) -> torch.Tensor:
    return F.one_hot(label - 1, CLASSES).float()


def tf_buggy(label: tf.Tensor) -> tf.Tensor:
    return tf.one_hot(label, CLASSES)


def tf_fixed(label: tf.Tensor) -> tf.Tensor:
    return tf.one_hot(label - 1, CLASSES)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"label": np.random.default_rng(seed).permutation(np.arange(10) % CLASSES + 1)}
