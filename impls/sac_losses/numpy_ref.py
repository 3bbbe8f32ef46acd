"""Losses of soft actor-critic in NumPy, float64, row by row, with hand-written gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.arguments import require_floating, require_reduction
from impls.sac_losses.config import require_alpha, require_scalar, require_vectors

Array = np.ndarray
Cotangents = Mapping[str, Array]


def soft_target(
    r_t: Any, discount_t: Any, q1_t: Any, q2_t: Any, log_prob_t: Any, *, alpha: Any
) -> Any:
    require_vectors(r_t=r_t, discount_t=discount_t, q1_t=q1_t, q2_t=q2_t, log_prob_t=log_prob_t)
    require_alpha(alpha)
    rows = zip(r_t, discount_t, q1_t, q2_t, log_prob_t, strict=True)
    return np.array([r + d * (min(q1, q2) - float(alpha) * p) for r, d, q1, q2, p in rows])


def soft_critic_loss(q1_tm1: Any, q2_tm1: Any, target: Any, *, reduction: str = "mean") -> Any:
    require_vectors(q1_tm1=q1_tm1, q2_tm1=q2_tm1, target=target)
    rows = zip(q1_tm1, q2_tm1, target, strict=True)
    losses = [(q1 - y) ** 2 / 2.0 + (q2 - y) ** 2 / 2.0 for q1, q2, y in rows]
    return _reduce(np.array(losses), reduction)


def soft_critic_loss_vjp(
    *,
    cotangents: Cotangents,
    q1_tm1: Array,
    q2_tm1: Array,
    target: Array,
    reduction: str = "mean",
) -> dict[str, Array]:
    weight = _weights(cotangents, len(target), reduction)
    return {"q1_tm1": weight * (q1_tm1 - target), "q2_tm1": weight * (q2_tm1 - target)}


def soft_actor_loss(log_prob: Any, q1: Any, q2: Any, *, alpha: Any, reduction: str = "mean") -> Any:
    require_vectors(log_prob=log_prob, q1=q1, q2=q2)
    require_alpha(alpha)
    rows = zip(log_prob, q1, q2, strict=True)
    return _reduce(np.array([float(alpha) * p - min(a, b) for p, a, b in rows]), reduction)


def soft_actor_loss_vjp(
    *,
    cotangents: Cotangents,
    log_prob: Array,
    q1: Array,
    q2: Array,
    alpha: Any,
    reduction: str = "mean",
) -> dict[str, Array]:
    weight = _weights(cotangents, len(q1), reduction)
    first = q1 <= q2
    return {"log_prob": weight * float(alpha), "q1": -weight * first, "q2": -weight * ~first}


def temperature_loss(
    log_alpha: Any, log_prob: Any, *, target_entropy: float, reduction: str = "mean"
) -> Any:
    require_floating(log_alpha=log_alpha, log_prob=log_prob)
    require_scalar(log_alpha=log_alpha)
    require_vectors(log_prob=log_prob)
    losses = [-np.exp(log_alpha) * (p + target_entropy) for p in log_prob]
    return _reduce(np.array(losses), reduction)


def temperature_loss_vjp(
    *,
    cotangents: Cotangents,
    log_alpha: Array,
    log_prob: Array,
    target_entropy: float,
    reduction: str = "mean",
) -> dict[str, Array]:
    weight = _weights(cotangents, len(log_prob), reduction)
    slope = np.sum(weight * -np.exp(log_alpha) * (log_prob + target_entropy))
    return {"log_alpha": np.asarray(slope)}


def _reduce(rows: Array, reduction: str) -> Array:
    require_reduction(reduction)
    if reduction == "none":
        return rows
    total = np.asarray(sum(rows))
    return total / len(rows) if reduction == "mean" else total


def _weights(cotangents: Cotangents, batch_size: int, reduction: str) -> Array:
    """Gradient of the scalar with respect to each row's loss."""
    value = cotangents["value"]
    share = value / batch_size if reduction == "mean" else value
    return np.broadcast_to(share, (batch_size,))
