"""Exploration on torch tensors."""

from __future__ import annotations

from numbers import Real
from typing import Any

import torch

from impls.errors import ConfigError, DtypeError, ShapeError


def gaussian_action(action: Any, noise: Any, *, sigma: Any, low: Any, high: Any) -> Any:
    """Action with Gaussian noise, kept in bounds."""
    _require_alike(action=action, noise=noise)
    _require_at_least_zero(sigma=sigma)
    _require_bounds(low, high)
    return _clip(action + _like(sigma, action) * noise, low, high)


def smoothed_target_action(
    action: Any, noise: Any, *, sigma: Any, noise_clip: Any, low: Any, high: Any
) -> Any:
    """Target policy smoothing: noise is clipped first, then the action."""
    _require_alike(action=action, noise=noise)
    _require_at_least_zero(sigma=sigma, noise_clip=noise_clip)
    _require_bounds(low, high)
    limit = _like(noise_clip, action)
    scaled = _clip(_like(sigma, action) * noise, -limit, limit)
    return _clip(action + scaled, low, high)


def ou_step(x_tm1: Any, noise: Any, *, theta: Any, sigma: Any, mu: Any, dt: Any) -> Any:
    """One Euler-Maruyama step of an Ornstein-Uhlenbeck process."""
    _require_alike(x_tm1=x_tm1, noise=noise)
    _require_at_least_zero(theta=theta, sigma=sigma)
    if isinstance(dt, Real) and not float(dt) > 0.0:
        raise ConfigError(f"dt={dt!r}: must be above 0")
    rate, scale, mean, time = (_like(value, x_tm1) for value in (theta, sigma, mu, dt))
    return x_tm1 + rate * (mean - x_tm1) * time + scale * torch.sqrt(time) * noise


def ou_sequence(
    x_tm1: Any,
    noise: Any,
    terminated: Any,
    truncated: Any,
    *,
    theta: Any,
    sigma: Any,
    mu: Any,
    dt: Any,
) -> Any:
    """An Ornstein-Uhlenbeck process over time that starts afresh at ``mu`` with each episode."""
    _require_sequence(x_tm1, noise, terminated, truncated)
    ended = terminated | truncated
    start = _like(mu, x_tm1)
    state, rows = x_tm1, []
    for t in range(noise.shape[0]):
        x_t = ou_step(state, noise[t], theta=theta, sigma=sigma, mu=mu, dt=dt)
        state = torch.where(ended[t, :, None], start, x_t)
        rows.append(x_t)
    return torch.stack(rows), state


def linear_decay(step: Any, *, start: float, end: float, decay_steps: int) -> Any:
    """A scale that moves in a straight line."""
    if decay_steps < 1:
        raise ConfigError(f"decay_steps={decay_steps!r}: must be at least 1")
    share = (_steps(step) / decay_steps).clamp(max=1.0)
    return start + (end - start) * share


def exponential_decay(step: Any, *, start: float, end: float, decay: float) -> Any:
    """A scale that shrinks by a factor per step, down to a floor."""
    _require_decay(start, end, decay)
    return (start * decay ** _steps(step)).clamp(min=end)


def epsilon_greedy(q: Any, uniform: Any, random_action: Any, *, epsilon: Any) -> Any:
    """Greedy action, or with probability epsilon the given random one."""
    floating = q.is_floating_point() and uniform.is_floating_point()
    if not floating or random_action.dtype != torch.int64:
        raise DtypeError(
            f"q is {q.dtype}, uniform {uniform.dtype}, random_action {random_action.dtype}: "
            "must be floating, floating, int64"
        )
    if q.ndim != 2 or uniform.shape != q.shape[:1] or random_action.shape != q.shape[:1]:
        raise ShapeError(
            f"q has shape {tuple(q.shape)}, uniform {tuple(uniform.shape)}, "
            f"random_action {tuple(random_action.shape)}: must be [B, A], [B], [B]"
        )
    if isinstance(epsilon, Real) and not 0.0 <= float(epsilon) <= 1.0:
        raise ConfigError(f"epsilon={epsilon!r}: must be in [0, 1]")
    explore = uniform.to(torch.float64) < _like(epsilon, uniform.to(torch.float64))
    return torch.where(explore, random_action, torch.argmax(q, dim=1))


def _clip(values: torch.Tensor, low: Any, high: Any) -> torch.Tensor:
    return torch.minimum(torch.maximum(values, _like(low, values)), _like(high, values))


def _like(value: Any, tensor: torch.Tensor) -> torch.Tensor:
    """A number, tuple or tensor in the dtype and on the device of ``tensor``."""
    return torch.as_tensor(value, dtype=tensor.dtype, device=tensor.device)


def _steps(step: Any) -> torch.Tensor:
    steps = torch.as_tensor(step)
    if steps.dtype not in (torch.int32, torch.int64):
        raise DtypeError(f"step is {steps.dtype}, must be an integer")
    return steps.to(torch.float64)


def _require_alike(**tensors: torch.Tensor) -> None:
    (first, a), (second, b) = tensors.items()
    if not a.is_floating_point() or a.dtype != b.dtype:
        raise DtypeError(
            f"{first} is {a.dtype}, {second} is {b.dtype}: must be the same floating dtype"
        )
    if a.shape != b.shape:
        raise ShapeError(
            f"{first} has shape {tuple(a.shape)}, {second} {tuple(b.shape)}: must be equal"
        )


def _require_sequence(
    x_tm1: torch.Tensor, noise: torch.Tensor, terminated: torch.Tensor, truncated: torch.Tensor
) -> None:
    if noise.ndim != 3 or noise.shape[0] < 1 or noise.shape[1:] != x_tm1.shape:
        raise ShapeError(
            f"noise has shape {tuple(noise.shape)}, "
            f"must be [T, *{tuple(x_tm1.shape)}] with at least one step"
        )
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        if flag.dtype != torch.bool:
            raise DtypeError(f"{name} is {flag.dtype}, must be bool")
        if flag.shape != noise.shape[:2]:
            raise ShapeError(
                f"{name} has shape {tuple(flag.shape)}, must be {tuple(noise.shape[:2])}"
            )


def _require_at_least_zero(**numbers: Any) -> None:
    for name, number in numbers.items():
        if isinstance(number, Real) and not float(number) >= 0.0:
            raise ConfigError(f"{name}={number!r}: must be at least 0")


def _require_bounds(low: Any, high: Any) -> None:
    if isinstance(low, Real) and isinstance(high, Real) and not float(low) <= float(high):
        raise ConfigError(f"low={low!r}, high={high!r}: low must not exceed high")


def _require_decay(start: float, end: float, decay: float) -> None:
    if not start > 0.0:
        raise ConfigError(f"start={start!r}: must be above 0")
    if not 0.0 <= end <= start:
        raise ConfigError(f"end={end!r}: must be in [0, start], start={start!r}")
    if not 0.0 < decay <= 1.0:
        raise ConfigError(f"decay={decay!r}: must be in (0, 1]")
