"""Deep Q-learning on torch tensors: see ``spec.py`` for the contract."""

from __future__ import annotations

from typing import Any

import torch

from impls.arguments import require_dtype, require_reduction
from impls.losses import torch_impl as losses
from impls.value_losses.config import require_table


def chosen_value(q_tm1: Any, a_tm1: Any) -> Any:
    require_table({"a_tm1": a_tm1}, q_tm1=q_tm1)
    require_dtype("int64", a_tm1=a_tm1)
    return torch.gather(q_tm1, 1, a_tm1[:, None])[:, 0]


def dqn_target(r_t: Any, discount_t: Any, q_t: Any) -> Any:
    require_table({"r_t": r_t, "discount_t": discount_t}, q_t=q_t)
    with torch.no_grad():
        return r_t + discount_t * torch.amax(q_t, dim=1)


def double_dqn_target(r_t: Any, discount_t: Any, q_t: Any, selector_q_t: Any) -> Any:
    require_table({"r_t": r_t, "discount_t": discount_t}, q_t=q_t, selector_q_t=selector_q_t)
    with torch.no_grad():
        best = torch.argmax(selector_q_t, dim=1)
        return r_t + discount_t * chosen_value(q_t, best)


def q_learning_loss(
    q_tm1: Any,
    a_tm1: Any,
    target: Any,
    *,
    weight: Any = None,
    delta: float = 1.0,
    reduction: str = "mean",
) -> Any:
    rows = {"a_tm1": a_tm1, "target": target}
    require_table(rows if weight is None else {**rows, "weight": weight}, q_tm1=q_tm1)
    chosen = chosen_value(q_tm1, a_tm1)
    each = losses.huber_loss(chosen, target, delta=delta, reduction="none")
    if weight is not None:
        each = weight.detach() * each
    return _reduce(each, reduction)


def _reduce(rows: torch.Tensor, reduction: str) -> torch.Tensor:
    require_reduction(reduction)
    if reduction == "mean":
        return torch.mean(rows)
    if reduction == "sum":
        return torch.sum(rows)
    return rows
