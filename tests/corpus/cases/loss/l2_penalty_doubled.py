"""A regulariser twice as strong."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

ID = "l2_penalty_doubled"
KIND = "loss"
SUBJECT = "function"
TITLE = "A regulariser twice as strong"
SYMPTOM = "Weights shrink at twice the rate"
WHY = "The Keras penalty is c * sum(w^2) with gradient 2 c w; torch's weight_decay=c adds c w"
CAUSE = "l2-factor-two|factor-two"
FIX = "keras.regularizers.L2(c / 2)"
PLACE = "output/penalty"
FLOAT32_CONSTANTS = True


C = 0.03


def torch_side(w: torch.Tensor, x: torch.Tensor) -> dict[str, torch.Tensor]:
    data, penalty = (x @ w).square().mean(), 0.5 * C * w.square().sum()
    return {"data": data, "penalty": penalty, "loss": data + penalty}


def tf_buggy(w: tf.Tensor, x: tf.Tensor) -> dict[str, tf.Tensor]:
    data, penalty = tf.reduce_mean(tf.square(x @ w)), keras.regularizers.L2(C)(w)
    return {"data": data, "penalty": penalty, "loss": data + penalty}


def tf_fixed(w: tf.Tensor, x: tf.Tensor) -> dict[str, tf.Tensor]:
    data, penalty = tf.reduce_mean(tf.square(x @ w)), keras.regularizers.L2(C / 2)(w)
    return {"data": data, "penalty": penalty, "loss": data + penalty}


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "w": rng.normal(size=(4, 3)).astype(np.float32),
        "x": rng.normal(size=(6, 4)).astype(np.float32),
    }
