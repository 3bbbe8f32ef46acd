"""Policies on torch tensors: see ``spec.py`` for the contract."""

from __future__ import annotations

import math
from typing import Any

import torch

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
    with torch.no_grad():
        wide = logits.to(torch.float64)
        weights = torch.exp(wide - wide.amax(dim=-1, keepdim=True))
        sums = torch.cumsum(weights, dim=-1)
        threshold = uniform.to(torch.float64)[..., None] * sums[..., -1:]
        return torch.sum(sums <= threshold, dim=-1)


def categorical_log_prob(logits: Any, action: Any) -> Any:
    require_logits(logits, action=action)
    require_action(action)
    log_p = torch.log_softmax(logits, dim=-1)
    return torch.gather(log_p, -1, action[..., None])[..., 0]


def categorical_entropy(logits: Any) -> Any:
    require_logits(logits)
    log_p = torch.log_softmax(logits, dim=-1)
    return -torch.sum(torch.exp(log_p) * log_p, dim=-1)


def categorical_mode(logits: Any) -> Any:
    require_logits(logits)
    return torch.argmax(logits, dim=-1)


def gaussian_sample(mean: Any, log_std: Any, noise: Any) -> Any:
    require_gaussian(mean, log_std, noise=noise)
    return mean + torch.exp(log_std) * noise


def gaussian_log_prob(mean: Any, log_std: Any, action: Any) -> Any:
    require_gaussian(mean, log_std, action=action)
    scaled = (action - mean) / torch.exp(log_std)
    return torch.sum(-0.5 * torch.square(scaled) - log_std - HALF_LOG_2PI, dim=-1)


def gaussian_entropy(log_std: Any) -> Any:
    require_floating(log_std=log_std)
    require_axis(log_std=log_std)
    return torch.sum(log_std + (0.5 + HALF_LOG_2PI), dim=-1)


def gaussian_mode(mean: Any) -> Any:
    require_floating(mean=mean)
    require_axis(mean=mean)
    return mean


def tanh_gaussian_sample(
    mean: Any, log_std: Any, noise: Any, *, low: Any = -1.0, high: Any = 1.0
) -> Any:
    require_gaussian(mean, log_std, noise=noise)
    require_bounds(low, high)
    u = mean + torch.exp(log_std) * noise
    middle, half = _bounds(low, high, u)
    density = -0.5 * torch.square(noise) - log_std - HALF_LOG_2PI
    log_prob = torch.sum(density - _log_slope(u) - torch.log(half), dim=-1)
    return middle + half * torch.tanh(u), log_prob


def tanh_gaussian_log_prob(
    mean: Any, log_std: Any, pre_action: Any, *, low: Any = -1.0, high: Any = 1.0
) -> Any:
    require_gaussian(mean, log_std, pre_action=pre_action)
    require_bounds(low, high)
    _, half = _bounds(low, high, pre_action)
    scaled = (pre_action - mean) / torch.exp(log_std)
    density = -0.5 * torch.square(scaled) - log_std - HALF_LOG_2PI
    return torch.sum(density - _log_slope(pre_action) - torch.log(half), dim=-1)


def tanh_gaussian_mode(mean: Any, *, low: Any = -1.0, high: Any = 1.0) -> Any:
    require_floating(mean=mean)
    require_axis(mean=mean)
    require_bounds(low, high)
    middle, half = _bounds(low, high, mean)
    return middle + half * torch.tanh(mean)


def _log_slope(u: torch.Tensor) -> torch.Tensor:
    """``log(1 - tanh(u)^2)``, exact in the tails.

    In ``|u|``, because ``-u - softplus(-2 u)`` loses digits below zero; and there torch's softplus
    also leaves 2e-9 in float64, being linear above 20.
    """
    size = torch.abs(u)
    return 2.0 * (math.log(2.0) - size - torch.log1p(torch.exp(-2.0 * size)))


def _bounds(low: Any, high: Any, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Middle and half width of the bounds, in the dtype and on the device of ``like``."""
    lower = torch.as_tensor(low, dtype=like.dtype, device=like.device)
    upper = torch.as_tensor(high, dtype=like.dtype, device=like.device)
    return (upper + lower) / 2.0, (upper - lower) / 2.0
