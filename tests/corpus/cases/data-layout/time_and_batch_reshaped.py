"""Time and batch exchanged with a reshape."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "time_and_batch_reshaped"
KIND = "data-layout"
SUBJECT = "function"
TITLE = "Time and batch exchanged with a reshape"
SYMPTOM = "Sequences are stitched together from pieces of several environments"
WHY = "[T, B] becomes [B, T] by a transpose; a reshape cuts the rows anew"
CAUSE = "reshape-for-transpose|reshape-not-transpose"
FIX = "tf.transpose(rewards)"
PLACE = "output"


def torch_side(rewards: torch.Tensor) -> torch.Tensor:
    return rewards.t().cumsum(1)


def tf_buggy(rewards: tf.Tensor) -> tf.Tensor:
    t, b = rewards.shape
    return tf.cumsum(tf.reshape(rewards, [b, t]), axis=1)


def tf_fixed(rewards: tf.Tensor) -> tf.Tensor:
    return tf.cumsum(tf.transpose(rewards), axis=1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"rewards": np.random.default_rng(seed).normal(size=(7, 3)).astype(np.float32)}
