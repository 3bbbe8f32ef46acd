"""Two formulas for one function."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

ID = "two_formulas_for_softplus"
KIND = "control"
SUBJECT = "function"
TITLE = "Two formulas for one function"
WHY = "log(1 + exp(x)) written out on one side, the stable form on the other"


def torch_side(x: torch.Tensor) -> torch.Tensor:
    return torch.log1p(torch.exp(-x.abs())) + x.clamp(min=0)


def tf_fixed(x: tf.Tensor) -> tf.Tensor:
    return tf.math.softplus(x)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(scale=6.0, size=(4, 5)).astype(np.float32)}
