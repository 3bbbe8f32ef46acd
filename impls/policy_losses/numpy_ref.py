"""Policy losses in NumPy, float64, step by step as on paper, with hand-written gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from impls.arguments import require_reduction, require_rows
from impls.policy_losses.config import (
    require_coefficient,
    require_ratio_clip,
    require_value_clip,
)

Array = np.ndarray
Cotangents = Mapping[str, Array]


def policy_gradient_loss(log_prob: Any, advantage: Any, *, reduction: str = "mean") -> Any:
    require_rows(log_prob=log_prob, advantage=advantage)
    return _reduce(_each(lambda p, a: -p * a, log_prob, advantage), reduction)


def policy_gradient_loss_vjp(
    *, cotangents: Cotangents, log_prob: Array, advantage: Array, reduction: str = "mean"
) -> dict[str, Array]:
    return {"log_prob": -_weights(cotangents, log_prob.shape, reduction) * advantage}


def entropy_loss(entropy: Any, *, coefficient: Any = 0.01, reduction: str = "mean") -> Any:
    require_rows(entropy=entropy)
    require_coefficient(coefficient)
    return -float(coefficient) * _reduce(entropy, reduction)


def entropy_loss_vjp(
    *, cotangents: Cotangents, entropy: Array, coefficient: Any = 0.01, reduction: str = "mean"
) -> dict[str, Array]:
    return {"entropy": -float(coefficient) * _weights(cotangents, entropy.shape, reduction)}


def value_loss(v_tm1: Any, target: Any, *, reduction: str = "mean") -> Any:
    require_rows(v_tm1=v_tm1, target=target)
    return _reduce(_each(lambda v, g: (v - g) ** 2 / 2.0, v_tm1, target), reduction)


def value_loss_vjp(
    *, cotangents: Cotangents, v_tm1: Array, target: Array, reduction: str = "mean"
) -> dict[str, Array]:
    return {"v_tm1": _weights(cotangents, v_tm1.shape, reduction) * (v_tm1 - target)}


def clipped_value_loss(
    v_tm1: Any, old_v_tm1: Any, target: Any, *, clip: float = 0.2, reduction: str = "mean"
) -> Any:
    require_rows(v_tm1=v_tm1, old_v_tm1=old_v_tm1, target=target)
    require_value_clip(clip)

    def loss(v: float, old: float, g: float) -> float:
        moved = max(min(v, old + clip), old - clip)
        return max((v - g) ** 2, (moved - g) ** 2) / 2.0

    return _reduce(_each(loss, v_tm1, old_v_tm1, target), reduction)


def clipped_value_loss_vjp(
    *,
    cotangents: Cotangents,
    v_tm1: Array,
    old_v_tm1: Array,
    target: Array,
    clip: float = 0.2,
    reduction: str = "mean",
) -> dict[str, Array]:
    def slope(v: float, old: float, g: float) -> float:
        moved = max(min(v, old + clip), old - clip)
        return v - g if (v - g) ** 2 >= (moved - g) ** 2 else 0.0

    slopes = _each(slope, v_tm1, old_v_tm1, target)
    return {"v_tm1": _weights(cotangents, v_tm1.shape, reduction) * slopes}


def clipped_surrogate_loss(
    log_prob: Any,
    old_log_prob: Any,
    advantage: Any,
    *,
    clip: float = 0.2,
    reduction: str = "mean",
) -> Any:
    require_rows(log_prob=log_prob, old_log_prob=old_log_prob, advantage=advantage)
    require_ratio_clip(clip)

    def loss(new: float, old: float, a: float) -> float:
        limit = 1.0 + clip if a >= 0.0 else 1.0 - clip
        return -min(float(np.exp(new - old)) * a, limit * a)

    return _reduce(_each(loss, log_prob, old_log_prob, advantage), reduction)


def clipped_surrogate_loss_vjp(
    *,
    cotangents: Cotangents,
    log_prob: Array,
    old_log_prob: Array,
    advantage: Array,
    clip: float = 0.2,
    reduction: str = "mean",
) -> dict[str, Array]:
    def slope(new: float, old: float, a: float) -> float:
        ratio = float(np.exp(new - old))
        kept = ratio <= 1.0 + clip if a >= 0.0 else ratio >= 1.0 - clip
        return -ratio * a if kept else 0.0

    slopes = _each(slope, log_prob, old_log_prob, advantage)
    return {"log_prob": _weights(cotangents, log_prob.shape, reduction) * slopes}


def _each(function: Callable[..., float], *arrays: Array) -> Array:
    """The function of each step's values."""
    rows = [function(*values) for values in zip(*(a.ravel() for a in arrays), strict=True)]
    return np.array(rows, np.float64).reshape(arrays[0].shape)


def _reduce(rows: Array, reduction: str) -> Array:
    require_reduction(reduction)
    if reduction == "none":
        return rows
    total = np.asarray(sum(rows.ravel()))
    return total / rows.size if reduction == "mean" else total


def _weights(cotangents: Cotangents, shape: tuple[int, ...], reduction: str) -> Array:
    """Gradient of the scalar with respect to each step's loss."""
    value = cotangents["value"]
    return np.broadcast_to(value / np.prod(shape) if reduction == "mean" else value, shape)
