"""An angle from a quotient instead of from both coordinates."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "arctangent_of_quotient"
KIND = "numerics"
SUBJECT = "function"
TITLE = "An angle from a quotient instead of from both coordinates"
SYMPTOM = "Angles in the left half-plane are off by pi"
WHY = "atan(y / x) forgets the signs that atan2(y, x) uses"
CAUSE = "other-function|other-operation"
FIX = "tf.atan2(y, x)"
PLACE = "output"


def torch_side(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.atan2(y, x)


def tf_buggy(y: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    return tf.atan(y / x)


def tf_fixed(y: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    return tf.atan2(y, x)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=11).astype(np.float32) for name in ("y", "x")}
