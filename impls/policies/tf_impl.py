"""Policies on TensorFlow tensors: see ``spec.py`` for the contract."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from impls.arguments import require_floating
from impls.policies.config import (
    require_action,
    require_axis,
    require_bounds,
    require_gaussian,
    require_logits,
)

HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


def categorical_sample(logits: Any, uniform: Any) -> Any:
    require_logits(logits, uniform=uniform)
    require_floating(uniform=uniform)
    wide = tf.cast(logits, tf.float64)
    weights = tf.exp(wide - tf.reduce_max(wide, axis=-1, keepdims=True))
    sums = tf.cumsum(weights, axis=-1)
    threshold = tf.cast(uniform, tf.float64)[..., tf.newaxis] * sums[..., -1:]
    return tf.reduce_sum(tf.cast(sums <= threshold, tf.int64), axis=-1)


def categorical_log_prob(logits: Any, action: Any) -> Any:
    require_logits(logits, action=action)
    require_action(action)
    log_p = tf.nn.log_softmax(logits, axis=-1)
    return tf.gather(log_p, action, axis=-1, batch_dims=action.shape.rank)


def categorical_entropy(logits: Any) -> Any:
    require_logits(logits)
    log_p = tf.nn.log_softmax(logits, axis=-1)
    return -tf.reduce_sum(tf.nn.softmax(logits, axis=-1) * log_p, axis=-1)


def categorical_mode(logits: Any) -> Any:
    require_logits(logits)
    return tf.argmax(logits, axis=-1, output_type=tf.int64)


def gaussian_sample(mean: Any, log_std: Any, noise: Any) -> Any:
    require_gaussian(mean, log_std, noise=noise)
    return mean + tf.exp(log_std) * noise


def gaussian_log_prob(mean: Any, log_std: Any, action: Any) -> Any:
    require_gaussian(mean, log_std, action=action)
    return tf.reduce_sum(_density((action - mean) * tf.exp(-log_std), log_std), axis=-1)


def gaussian_entropy(log_std: Any) -> Any:
    require_floating(log_std=log_std)
    require_axis(log_std=log_std)
    return tf.reduce_sum(log_std + (0.5 + HALF_LOG_2PI), axis=-1)


def gaussian_mode(mean: Any) -> Any:
    require_floating(mean=mean)
    require_axis(mean=mean)
    return mean


def tanh_gaussian_sample(
    mean: Any, log_std: Any, noise: Any, *, low: Any = -1.0, high: Any = 1.0
) -> Any:
    require_gaussian(mean, log_std, noise=noise)
    require_bounds(low, high)
    u = mean + tf.exp(log_std) * noise
    middle, half = _bounds(low, high, u)
    terms = _density(noise, log_std) - _log_slope(u) - tf.math.log(half)
    return middle + half * tf.tanh(u), tf.reduce_sum(terms, axis=-1)


def tanh_gaussian_log_prob(
    mean: Any, log_std: Any, pre_action: Any, *, low: Any = -1.0, high: Any = 1.0
) -> Any:
    require_gaussian(mean, log_std, pre_action=pre_action)
    require_bounds(low, high)
    _, half = _bounds(low, high, pre_action)
    density = gaussian_log_prob(mean, log_std, pre_action)
    return density - tf.reduce_sum(_log_slope(pre_action) + tf.math.log(half), axis=-1)


def tanh_gaussian_mode(mean: Any, *, low: Any = -1.0, high: Any = 1.0) -> Any:
    require_floating(mean=mean)
    require_axis(mean=mean)
    require_bounds(low, high)
    middle, half = _bounds(low, high, mean)
    return middle + half * tf.tanh(mean)


def _density(scaled: tf.Tensor, log_std: tf.Tensor) -> tf.Tensor:
    """Log-density of each dimension, from the distance to the mean in deviations."""
    return -0.5 * tf.square(scaled) - log_std - HALF_LOG_2PI


def _log_slope(u: tf.Tensor) -> tf.Tensor:
    """``log(1 - tanh(u)^2)``, exact in the tails: ``-u - softplus(-2 u)`` loses digits below 0."""
    size = tf.abs(u)
    return 2.0 * (math.log(2.0) - size - tf.math.softplus(-2.0 * size))


def _bounds(low: Any, high: Any, like: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Middle and half width of the bounds, in the dtype of ``like``."""
    lower, upper = (
        tf.cast(bound, like.dtype) if tf.is_tensor(bound) else tf.constant(bound, like.dtype)
        for bound in (low, high)
    )
    return (upper + lower) / 2.0, (upper - lower) / 2.0
