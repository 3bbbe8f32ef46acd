"""Advantages on torch tensors: see ``spec.py`` for the contract."""

from __future__ import annotations

from typing import Any

import torch

from impls.advantages.config import require_clips, require_epsilon, require_lambda
from impls.arguments import require_floating, require_rows, require_steps


def gae(
    r_t: Any, discount_t: Any, v_tm1: Any, v_t: Any, *, lambda_: Any, truncated: Any = None
) -> Any:
    require_steps(truncated, r_t=r_t, discount_t=discount_t, v_tm1=v_tm1, v_t=v_t)
    require_lambda(lambda_)
    with torch.no_grad():
        delta_t = r_t + discount_t * v_t - v_tm1
        return _accumulate(delta_t, discount_t * lambda_, truncated)


def lambda_returns(
    r_t: Any, discount_t: Any, v_t: Any, *, lambda_: Any, truncated: Any = None
) -> Any:
    require_steps(truncated, r_t=r_t, discount_t=discount_t, v_t=v_t)
    require_lambda(lambda_)
    following, rows = v_t[-1], []
    for t in reversed(range(r_t.shape[0])):
        if truncated is not None:
            following = torch.where(truncated[t], v_t[t], following)
        mixed = (1.0 - lambda_) * v_t[t] + lambda_ * following
        following = r_t[t] + discount_t[t] * mixed
        rows.append(following)
    return torch.stack(rows[::-1])


def vtrace(
    r_t: Any,
    discount_t: Any,
    v_tm1: Any,
    v_t: Any,
    log_pi_tm1: Any,
    log_mu_tm1: Any,
    *,
    lambda_: Any = 1.0,
    rho_bar: float = 1.0,
    c_bar: float = 1.0,
    truncated: Any = None,
) -> Any:
    require_steps(
        truncated,
        r_t=r_t,
        discount_t=discount_t,
        v_tm1=v_tm1,
        v_t=v_t,
        log_pi_tm1=log_pi_tm1,
        log_mu_tm1=log_mu_tm1,
    )
    require_lambda(lambda_)
    require_clips(rho_bar, c_bar)
    with torch.no_grad():
        ratio = torch.exp(log_pi_tm1 - log_mu_tm1)
        rho, c = ratio.clamp(max=rho_bar), lambda_ * ratio.clamp(max=c_bar)
        delta_t = rho * (r_t + discount_t * v_t - v_tm1)
        target = v_tm1 + _accumulate(delta_t, discount_t * c, truncated)
        following = torch.cat([target[1:], v_t[-1:]])
        if truncated is not None:
            following = torch.where(truncated, v_t, following)
        return target, rho * (r_t + discount_t * following - v_tm1)


def normalize_advantage(advantage: Any, *, epsilon: float = 1e-8) -> Any:
    require_floating(advantage=advantage)
    require_rows(advantage=advantage)
    require_epsilon(epsilon)
    with torch.no_grad():
        std = torch.std(advantage, correction=0)
        return (advantage - torch.mean(advantage)) / (std + epsilon)


def _accumulate(
    terms: torch.Tensor, factors: torch.Tensor, truncated: torch.Tensor | None
) -> torch.Tensor:
    """``x_t = terms_t + factors_t * x_{t+1}``, cut behind truncated steps and the last one."""
    x_t, rows = torch.zeros_like(terms[-1]), []
    for t in reversed(range(terms.shape[0])):
        if truncated is not None:
            x_t = torch.where(truncated[t], 0.0, x_t)
        x_t = terms[t] + factors[t] * x_t
        rows.append(x_t)
    return torch.stack(rows[::-1])
