"""Policies by their definitions, float64, with hand-written gradients: see ``spec.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.arguments import require_floating
from impls.policies.config import (
    require_action,
    require_axis,
    require_bounds,
    require_gaussian,
    require_logits,
)

Array = np.ndarray
Cotangents = Mapping[str, Array]
HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)


def categorical_sample(logits: Any, uniform: Any) -> Any:
    require_logits(logits, uniform=uniform)
    require_floating(uniform=uniform)
    actions = np.zeros(uniform.shape, np.int64)
    for row in np.ndindex(uniform.shape):
        weights = np.exp(logits[row].astype(np.float64) - logits[row].max())
        threshold = float(uniform[row]) * np.cumsum(weights)[-1]
        total = 0.0
        for a, weight in enumerate(weights):
            total += weight
            if total > threshold:
                actions[row] = a
                break
    return actions


def categorical_log_prob(logits: Any, action: Any) -> Any:
    require_logits(logits, action=action)
    require_action(action)
    return np.take_along_axis(_log_softmax(logits), action[..., None], axis=-1)[..., 0]


def categorical_log_prob_vjp(
    *, cotangents: Cotangents, logits: Array, action: Array
) -> dict[str, Array]:
    chosen = np.arange(logits.shape[-1]) == action[..., None]
    return {"logits": cotangents["value"][..., None] * (chosen - np.exp(_log_softmax(logits)))}


def categorical_entropy(logits: Any) -> Any:
    require_logits(logits)
    log_p = _log_softmax(logits)
    return -np.sum(np.exp(log_p) * log_p, axis=-1)


def categorical_entropy_vjp(*, cotangents: Cotangents, logits: Array) -> dict[str, Array]:
    log_p = _log_softmax(logits)
    surprise = log_p + categorical_entropy(logits)[..., None]
    return {"logits": -cotangents["value"][..., None] * np.exp(log_p) * surprise}


def categorical_mode(logits: Any) -> Any:
    require_logits(logits)
    return np.argmax(logits, axis=-1)


def gaussian_sample(mean: Any, log_std: Any, noise: Any) -> Any:
    require_gaussian(mean, log_std, noise=noise)
    return mean + np.exp(log_std) * noise


def gaussian_sample_vjp(
    *, cotangents: Cotangents, mean: Array, log_std: Array, noise: Array
) -> dict[str, Array]:
    value = cotangents["value"]
    return {"mean": value, "log_std": _rows_to(log_std, value * np.exp(log_std) * noise)}


def gaussian_log_prob(mean: Any, log_std: Any, action: Any) -> Any:
    require_gaussian(mean, log_std, action=action)
    variance = np.exp(log_std) ** 2
    exponent = -((action - mean) ** 2) / (2.0 * variance)
    return np.sum(exponent - 0.5 * np.log(2.0 * np.pi * variance), axis=-1)


def gaussian_log_prob_vjp(
    *, cotangents: Cotangents, mean: Array, log_std: Array, action: Array
) -> dict[str, Array]:
    value, variance = cotangents["value"][..., None], np.exp(2.0 * log_std)
    pull = value * (action - mean) / variance
    spread = value * ((action - mean) ** 2 / variance - 1.0)
    return {"mean": pull, "log_std": _rows_to(log_std, spread), "action": -pull}


def gaussian_entropy(log_std: Any) -> Any:
    require_floating(log_std=log_std)
    require_axis(log_std=log_std)
    return np.sum(0.5 * np.log(2.0 * np.pi * np.e * np.exp(2.0 * log_std)), axis=-1)


def gaussian_entropy_vjp(*, cotangents: Cotangents, log_std: Array) -> dict[str, Array]:
    return {"log_std": cotangents["value"][..., None] * np.ones_like(log_std)}


def gaussian_mode(mean: Any) -> Any:
    require_floating(mean=mean)
    require_axis(mean=mean)
    return mean


def gaussian_mode_vjp(*, cotangents: Cotangents, mean: Array) -> dict[str, Array]:
    return {"mean": cotangents["value"] * np.ones_like(mean)}


def tanh_gaussian_sample(
    mean: Any, log_std: Any, noise: Any, *, low: Any = -1.0, high: Any = 1.0
) -> Any:
    u = gaussian_sample(mean, log_std, noise)
    terms = -(noise**2) / 2.0 - log_std - HALF_LOG_2PI - _log_slope(u, low, high)
    return tanh_gaussian_mode(u, low=low, high=high), np.sum(terms, axis=-1)


def tanh_gaussian_sample_vjp(
    *,
    cotangents: Cotangents,
    mean: Array,
    log_std: Array,
    noise: Array,
    low: Any = -1.0,
    high: Any = 1.0,
) -> dict[str, Array]:
    std, of_density = np.exp(log_std), cotangents["1"][..., None]
    u = mean + std * noise
    squashed = cotangents["0"] * np.exp(_log_slope(u, low, high))
    of_u = squashed + of_density * 2.0 * np.tanh(u)
    return {"mean": of_u, "log_std": _rows_to(log_std, of_u * std * noise - of_density)}


def tanh_gaussian_log_prob(
    mean: Any, log_std: Any, pre_action: Any, *, low: Any = -1.0, high: Any = 1.0
) -> Any:
    require_gaussian(mean, log_std, pre_action=pre_action)
    density = gaussian_log_prob(mean, log_std, pre_action)
    return density - np.sum(_log_slope(pre_action, low, high), axis=-1)


def tanh_gaussian_log_prob_vjp(
    *,
    cotangents: Cotangents,
    mean: Array,
    log_std: Array,
    pre_action: Array,
    low: Any = -1.0,
    high: Any = 1.0,
) -> dict[str, Array]:
    found = gaussian_log_prob_vjp(
        cotangents=cotangents, mean=mean, log_std=log_std, action=pre_action
    )
    squashed = cotangents["value"][..., None] * 2.0 * np.tanh(pre_action)
    return {
        "mean": found["mean"],
        "log_std": found["log_std"],
        "pre_action": found["action"] + squashed,
    }


def tanh_gaussian_mode(mean: Any, *, low: Any = -1.0, high: Any = 1.0) -> Any:
    require_floating(mean=mean)
    require_axis(mean=mean)
    require_bounds(low, high)
    upper, lower = np.asarray(high, np.float64), np.asarray(low, np.float64)
    return (upper + lower) / 2.0 + (upper - lower) / 2.0 * np.tanh(mean)


def tanh_gaussian_mode_vjp(
    *, cotangents: Cotangents, mean: Array, low: Any = -1.0, high: Any = 1.0
) -> dict[str, Array]:
    return {"mean": cotangents["value"] * np.exp(_log_slope(mean, low, high))}


def _log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True)))


def _log_slope(u: Array, low: Any, high: Any) -> Array:
    """Log of d(action)/du: ``half / cosh(u)^2``, for ``u`` whose cosh overflows too."""
    require_bounds(low, high)
    half = (np.asarray(high, np.float64) - np.asarray(low, np.float64)) / 2.0
    log_cosh = np.logaddexp(u, -u) - np.log(2.0)
    return np.asarray(np.log(half) - 2.0 * log_cosh)


def _rows_to(shared: Array, gradient: Array) -> Array:
    """The gradient of an array that the rows may share: summed over the axes it lacks."""
    missing = gradient.ndim - shared.ndim
    return np.asarray(gradient.sum(axis=tuple(range(missing))))
