"""Losses in PyTorch: see ``spec.py`` for the contract."""

from __future__ import annotations

import torch

from impls.losses.config import require_delta, require_reduction, require_vectors


def td_error(q_tm1: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    _require_vectors(q_tm1=q_tm1, target=target)
    return target.detach() - q_tm1


def mse_loss(q_tm1: torch.Tensor, target: torch.Tensor, *, reduction: str = "mean") -> torch.Tensor:
    _require_vectors(q_tm1=q_tm1, target=target)
    return _reduce(torch.square(q_tm1 - target.detach()), reduction)


def huber_loss(
    q_tm1: torch.Tensor, target: torch.Tensor, *, delta: float = 1.0, reduction: str = "mean"
) -> torch.Tensor:
    _require_vectors(q_tm1=q_tm1, target=target)
    require_delta(delta)
    error = q_tm1 - target.detach()
    size = torch.abs(error)
    losses = torch.where(size <= delta, 0.5 * torch.square(error), delta * (size - 0.5 * delta))
    return _reduce(losses, reduction)


def twin_critic_loss(
    q1_tm1: torch.Tensor, q2_tm1: torch.Tensor, target: torch.Tensor, *, reduction: str = "mean"
) -> torch.Tensor:
    _require_vectors(q1_tm1=q1_tm1, q2_tm1=q2_tm1, target=target)
    y = target.detach()
    return _reduce(torch.square(q1_tm1 - y) + torch.square(q2_tm1 - y), reduction)


def dpg_actor_loss(q_tm1: torch.Tensor, *, reduction: str = "mean") -> torch.Tensor:
    _require_vectors(q_tm1=q_tm1)
    return _reduce(-q_tm1, reduction)


def _reduce(losses: torch.Tensor, reduction: str) -> torch.Tensor:
    require_reduction(reduction)
    if reduction == "mean":
        return torch.mean(losses)
    if reduction == "sum":
        return torch.sum(losses)
    return losses


def _require_vectors(**arrays: torch.Tensor) -> None:
    require_vectors(
        {name: array.shape for name, array in arrays.items()},
        {name: str(array.dtype).removeprefix("torch.") for name, array in arrays.items()},
    )
