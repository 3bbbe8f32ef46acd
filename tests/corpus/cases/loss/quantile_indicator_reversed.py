"""The quantile weight looks at the wrong sign of the error."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F

ID = "quantile_indicator_reversed"
KIND = "loss"
SUBJECT = "function"
TITLE = "The quantile weight looks at the wrong sign of the error"
SYMPTOM = "The quantiles come out mirrored: the lowest fraction learns the highest value"
WHY = "The indicator counts targets below the prediction, u < 0"
CAUSE = "comparison|complement|sign|mask-other|operand-order|argument-order"
FIX = "tf.abs(tau - tf.cast(u < 0, u.dtype))"
PLACE = "output"


def torch_side(prediction: torch.Tensor, target: torch.Tensor, tau: torch.Tensor) -> torch.Tensor:
    u = target[:, None, :] - prediction[:, :, None]
    huber = F.huber_loss(
        prediction[:, :, None].expand_as(u), target[:, None, :].expand_as(u), reduction="none"
    )
    return ((tau[None, :, None] - (u < 0).to(u.dtype)).abs() * huber).mean(2).sum(1).mean()


def quantile_huber(
    prediction: tf.Tensor, target: tf.Tensor, tau: tf.Tensor, above: bool
) -> tf.Tensor:
    u = target[:, None, :] - prediction[:, :, None]
    size = tf.abs(u)
    huber = tf.where(size < 1.0, 0.5 * u**2, size - 0.5)
    side = tf.cast(u > 0 if above else u < 0, u.dtype)
    return tf.reduce_mean(
        tf.reduce_sum(tf.reduce_mean(tf.abs(tau[None, :, None] - side) * huber, 2), 1)
    )


def tf_buggy(prediction: tf.Tensor, target: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
    return quantile_huber(prediction, target, tau, above=True)


def tf_fixed(prediction: tf.Tensor, target: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
    return quantile_huber(prediction, target, tau, above=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "prediction": rng.normal(size=(4, 3)).astype(np.float32),
        "target": rng.normal(scale=2, size=(4, 5)).astype(np.float32),
        "tau": np.array([1 / 6, 1 / 2, 5 / 6], np.float32),
    }
