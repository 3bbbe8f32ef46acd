"""Losses of soft actor-critic on torch tensors: see ``spec.py`` for the contract."""

from __future__ import annotations

from typing import Any

import torch

from impls.arguments import require_floating, require_reduction
from impls.sac_losses.config import require_alpha, require_scalar, require_vectors


def soft_target(
    r_t: Any, discount_t: Any, q1_t: Any, q2_t: Any, log_prob_t: Any, *, alpha: Any
) -> Any:
    require_vectors(r_t=r_t, discount_t=discount_t, q1_t=q1_t, q2_t=q2_t, log_prob_t=log_prob_t)
    require_alpha(alpha)
    with torch.no_grad():
        soft_value = torch.minimum(q1_t, q2_t) - alpha * log_prob_t
        return r_t + discount_t * soft_value


def soft_critic_loss(q1_tm1: Any, q2_tm1: Any, target: Any, *, reduction: str = "mean") -> Any:
    require_vectors(q1_tm1=q1_tm1, q2_tm1=q2_tm1, target=target)
    y = target.detach()
    losses = 0.5 * torch.square(q1_tm1 - y) + 0.5 * torch.square(q2_tm1 - y)
    return _reduce(losses, reduction)


def soft_actor_loss(log_prob: Any, q1: Any, q2: Any, *, alpha: Any, reduction: str = "mean") -> Any:
    require_vectors(log_prob=log_prob, q1=q1, q2=q2)
    require_alpha(alpha)
    weight = alpha.detach() if isinstance(alpha, torch.Tensor) else alpha
    # not minimum, which halves the gradient between equal arguments
    return _reduce(weight * log_prob - torch.where(q1 <= q2, q1, q2), reduction)


def temperature_loss(
    log_alpha: Any, log_prob: Any, *, target_entropy: float, reduction: str = "mean"
) -> Any:
    require_floating(log_alpha=log_alpha, log_prob=log_prob)
    require_scalar(log_alpha=log_alpha)
    require_vectors(log_prob=log_prob)
    return _reduce(-torch.exp(log_alpha) * (log_prob.detach() + target_entropy), reduction)


def _reduce(losses: torch.Tensor, reduction: str) -> torch.Tensor:
    require_reduction(reduction)
    if reduction == "mean":
        return torch.mean(losses)
    if reduction == "sum":
        return torch.sum(losses)
    return losses
