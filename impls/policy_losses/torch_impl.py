"""Policy losses on torch tensors: see ``spec.py`` for the contract."""

from __future__ import annotations

from typing import Any

import torch

from impls.arguments import require_reduction, require_rows
from impls.policy_losses.config import (
    require_coefficient,
    require_ratio_clip,
    require_value_clip,
)


def policy_gradient_loss(log_prob: Any, advantage: Any, *, reduction: str = "mean") -> Any:
    require_rows(log_prob=log_prob, advantage=advantage)
    return _reduce(-log_prob * advantage.detach(), reduction)


def entropy_loss(entropy: Any, *, coefficient: Any = 0.01, reduction: str = "mean") -> Any:
    require_rows(entropy=entropy)
    require_coefficient(coefficient)
    return -coefficient * _reduce(entropy, reduction)


def value_loss(v_tm1: Any, target: Any, *, reduction: str = "mean") -> Any:
    require_rows(v_tm1=v_tm1, target=target)
    return _reduce(0.5 * torch.square(v_tm1 - target.detach()), reduction)


def clipped_value_loss(
    v_tm1: Any, old_v_tm1: Any, target: Any, *, clip: float = 0.2, reduction: str = "mean"
) -> Any:
    require_rows(v_tm1=v_tm1, old_v_tm1=old_v_tm1, target=target)
    require_value_clip(clip)
    old, goal = old_v_tm1.detach(), target.detach()
    change = v_tm1 - old
    # not clamp: what its gradient is at the limits differs between versions
    moved = old + torch.where(torch.abs(change) <= clip, change, clip * torch.sign(change.detach()))
    free, clipped = torch.square(v_tm1 - goal), torch.square(moved - goal)
    return _reduce(0.5 * torch.where(free >= clipped, free, clipped), reduction)


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
    ratio = torch.exp(log_prob - old_log_prob.detach())
    free = ratio * advantage.detach()
    clipped = ratio.clamp(1.0 - clip, 1.0 + clip) * advantage.detach()
    # not minimum, which halves the gradient between equal arguments
    return _reduce(-torch.where(free <= clipped, free, clipped), reduction)


def _reduce(losses: torch.Tensor, reduction: str) -> torch.Tensor:
    require_reduction(reduction)
    if reduction == "mean":
        return torch.mean(losses)
    if reduction == "sum":
        return torch.sum(losses)
    return losses
