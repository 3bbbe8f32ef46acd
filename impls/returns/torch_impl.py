"""Returns on torch tensors."""

from __future__ import annotations

from numbers import Real
from typing import Any

import torch

from impls.errors import ConfigError, DtypeError, ShapeError


def discounts(terminated: Any, truncated: Any, gamma: Any, *, dtype: str | None = None) -> Any:
    """The discount of what follows each step: ``gamma * (1 - terminated)``."""
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        if flag.dtype != torch.bool:
            raise DtypeError(f"{name} is {flag.dtype}, must be bool")
    if terminated.shape != truncated.shape:
        raise ShapeError(
            f"terminated has shape {tuple(terminated.shape)}, "
            f"truncated {tuple(truncated.shape)}: must be equal"
        )
    if isinstance(gamma, Real) and not 0.0 <= float(gamma) <= 1.0:
        raise ConfigError(f"gamma={gamma!r}: must be in [0, 1]")
    if dtype is None and isinstance(gamma, torch.Tensor):
        kind = gamma.dtype
    else:
        kind = getattr(torch, dtype or "float32")
    scale = torch.as_tensor(gamma, dtype=kind, device=terminated.device)
    return scale * (~terminated).to(kind)


def td_target(r_t: Any, discount_t: Any, v_t: Any) -> Any:
    """One-step target: ``r_t + discount_t * v_t``."""
    _require_alike(r_t=r_t, discount_t=discount_t, v_t=v_t)
    return r_t + discount_t * v_t


def n_step_return(r_t: Any, discount_t: Any, v_t: Any, n: int, *, truncated: Any = None) -> Any:
    """Return over at most n steps, bootstrapped from the value where the window ends."""
    _require_steps(truncated, r_t=r_t, discount_t=discount_t, v_t=v_t)
    if n < 1:
        raise ConfigError(f"n={n!r}: a window has at least 1 step")
    steps = r_t.shape[0]
    extra = min(n, steps) - 1
    # beyond the data: no reward, no discount, and the last value carried along
    r_all = torch.cat([r_t, torch.zeros_like(r_t[:extra])])
    discount_all = torch.cat([discount_t, torch.ones_like(r_t[:extra])])
    v_all = torch.cat([v_t, v_t[-1:].expand(extra, -1)])
    cut_all = None
    if truncated is not None:
        cut_all = torch.cat([truncated, torch.zeros_like(truncated[:extra])])
    g_t = v_all[extra:]
    for k in reversed(range(extra + 1)):
        window = slice(k, k + steps)
        if cut_all is not None:
            g_t = torch.where(cut_all[window], v_all[window], g_t)
        g_t = r_all[window] + discount_all[window] * g_t
    return g_t


def reward_to_go(r_t: Any, discount_t: Any, v_t: Any = None, *, truncated: Any = None) -> Any:
    """Discounted sum of the rewards from each step to the end of its episode."""
    v_t = torch.zeros_like(r_t) if v_t is None else v_t
    _require_steps(truncated, r_t=r_t, discount_t=discount_t, v_t=v_t)
    rows = []
    following = v_t[-1]
    for t in reversed(range(r_t.shape[0])):
        if truncated is not None:
            following = torch.where(truncated[t], v_t[t], following)
        following = r_t[t] + discount_t[t] * following
        rows.append(following)
    return torch.stack(rows[::-1])


def _require_alike(**tensors: torch.Tensor) -> None:
    first = next(iter(tensors))
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            raise DtypeError(f"{name} is {tensor.dtype}, must be floating")
        if tensor.dtype != tensors[first].dtype:
            raise DtypeError(
                f"{name} is {tensor.dtype}, {first} {tensors[first].dtype}: must be equal"
            )
        if tensor.shape != tensors[first].shape:
            raise ShapeError(
                f"{name} has shape {tuple(tensor.shape)}, "
                f"{first} {tuple(tensors[first].shape)}: must be equal"
            )


def _require_steps(truncated: torch.Tensor | None, **tensors: torch.Tensor) -> None:
    _require_alike(**tensors)
    shape = tuple(tensors["r_t"].shape)
    if len(shape) != 2 or shape[0] < 1:
        raise ShapeError(f"r_t has shape {shape}, must be [T, B] with at least one step")
    if truncated is None:
        return
    if truncated.dtype != torch.bool:
        raise DtypeError(f"truncated is {truncated.dtype}, must be bool")
    if tuple(truncated.shape) != shape:
        raise ShapeError(
            f"truncated has shape {tuple(truncated.shape)}, r_t {shape}: must be equal"
        )
