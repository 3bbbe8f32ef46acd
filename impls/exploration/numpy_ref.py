"""Exploration by its definitions, float64."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError


def gaussian_action(action: Any, noise: Any, *, sigma: Any, low: Any, high: Any) -> Any:
    """Action with Gaussian noise, kept in bounds."""
    _require_alike(action=action, noise=noise)
    _require_at_least_zero(sigma=sigma)
    _require_bounds(low, high)
    noisy = action + np.asarray(sigma) * noise
    return np.minimum(np.maximum(noisy, np.asarray(low)), np.asarray(high))


def smoothed_target_action(
    action: Any, noise: Any, *, sigma: Any, noise_clip: Any, low: Any, high: Any
) -> Any:
    """Target policy smoothing: noise is clipped first, then the action."""
    _require_alike(action=action, noise=noise)
    _require_at_least_zero(sigma=sigma, noise_clip=noise_clip)
    _require_bounds(low, high)
    limit = np.asarray(noise_clip)
    scaled = np.minimum(np.maximum(np.asarray(sigma) * noise, -limit), limit)
    return np.minimum(np.maximum(action + scaled, np.asarray(low)), np.asarray(high))


def ou_step(x_tm1: Any, noise: Any, *, theta: Any, sigma: Any, mu: Any, dt: Any) -> Any:
    """One Euler-Maruyama step of an Ornstein-Uhlenbeck process."""
    _require_alike(x_tm1=x_tm1, noise=noise)
    _require_at_least_zero(theta=theta, sigma=sigma)
    if isinstance(dt, Real) and not float(dt) > 0.0:
        raise ConfigError(f"dt={dt!r}: must be above 0")
    drift = theta * (np.asarray(mu) - x_tm1) * dt
    diffusion = np.asarray(sigma) * np.sqrt(dt) * noise
    return x_tm1 + drift + diffusion


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
    steps, batch, _ = noise.shape
    x_t, state = np.zeros_like(noise), x_tm1.copy()
    for t in range(steps):
        x_t[t] = ou_step(state, noise[t], theta=theta, sigma=sigma, mu=mu, dt=dt)
        for b in range(batch):
            state[b] = mu if terminated[t, b] or truncated[t, b] else x_t[t, b]
    return x_t, state


def linear_decay(step: Any, *, start: float, end: float, decay_steps: int) -> Any:
    """A scale that moves in a straight line."""
    if decay_steps < 1:
        raise ConfigError(f"decay_steps={decay_steps!r}: must be at least 1")
    share = np.minimum(_steps(step) / decay_steps, 1.0)
    return start + (end - start) * share


def exponential_decay(step: Any, *, start: float, end: float, decay: float) -> Any:
    """A scale that shrinks by a factor per step, down to a floor."""
    _require_decay(start, end, decay)
    return np.maximum(start * decay ** _steps(step), end)


def epsilon_greedy(q: Any, uniform: Any, random_action: Any, *, epsilon: Any) -> Any:
    """Greedy action, or with probability epsilon the given random one."""
    if q.dtype.kind != "f" or uniform.dtype.kind != "f" or random_action.dtype != np.int64:
        raise DtypeError(
            f"q is {q.dtype}, uniform {uniform.dtype}, random_action {random_action.dtype}: "
            "must be floating, floating, int64"
        )
    if q.ndim != 2 or uniform.shape != q.shape[:1] or random_action.shape != q.shape[:1]:
        raise ShapeError(
            f"q has shape {q.shape}, uniform {uniform.shape}, "
            f"random_action {random_action.shape}: must be [B, A], [B], [B]"
        )
    if isinstance(epsilon, Real) and not 0.0 <= float(epsilon) <= 1.0:
        raise ConfigError(f"epsilon={epsilon!r}: must be in [0, 1]")
    actions = []
    for values, draw, other in zip(q, uniform, random_action, strict=True):
        greedy = max(range(len(values)), key=lambda a: (values[a], -a))
        actions.append(other if float(draw) < float(epsilon) else greedy)
    return np.array(actions, np.int64)


def _steps(step: Any) -> np.ndarray:
    steps = np.asarray(step)
    if steps.dtype.kind not in "iu":
        raise DtypeError(f"step is {steps.dtype}, must be an integer")
    return steps.astype(np.float64)


def _require_alike(**arrays: Any) -> None:
    (first, a), (second, b) = arrays.items()
    if a.dtype.kind != "f" or a.dtype != b.dtype:
        raise DtypeError(
            f"{first} is {a.dtype}, {second} is {b.dtype}: must be the same floating dtype"
        )
    if a.shape != b.shape:
        raise ShapeError(f"{first} has shape {a.shape}, {second} {b.shape}: must be equal")


def _require_sequence(x_tm1: Any, noise: Any, terminated: Any, truncated: Any) -> None:
    if noise.ndim != 3 or noise.shape[0] < 1 or noise.shape[1:] != x_tm1.shape:
        raise ShapeError(
            f"noise has shape {noise.shape}, must be [T, *{x_tm1.shape}] with at least one step"
        )
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        if flag.dtype != np.bool_:
            raise DtypeError(f"{name} is {flag.dtype}, must be bool")
        if flag.shape != noise.shape[:2]:
            raise ShapeError(f"{name} has shape {flag.shape}, must be {noise.shape[:2]}")


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
