"""The last step of padded sequences instead of their own last step."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "last_step_of_padded"
KIND = "recurrent"
SUBJECT = "function"
TITLE = "The last step of padded sequences instead of their own last step"
SYMPTOM = "Long sequences agree, short ones end in whatever the padding gave"
WHY = "states[:, -1] is the end of the array; the end of a sequence is at its length - 1"
CAUSE = "last-step|off-by-one|other-operand"
FIX = "tf.gather(states, lengths - 1, axis=1, batch_dims=1)"
PLACE = "output"


def torch_side(states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return states[torch.arange(len(states)), lengths - 1]


def tf_buggy(states: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    return states[:, -1]


def tf_fixed(states: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    return tf.gather(states, lengths - 1, axis=1, batch_dims=1)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "states": rng.normal(size=(4, 6, 3)).astype(np.float32),
        "lengths": np.array([6, 2, 5, 3]),
    }
