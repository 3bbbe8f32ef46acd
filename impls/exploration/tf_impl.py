"""Exploration on TensorFlow tensors."""

from __future__ import annotations

from numbers import Real
from typing import Any

import tensorflow as tf

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
    return x_tm1 + rate * (mean - x_tm1) * time + scale * tf.sqrt(time) * noise


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
    ended = tf.logical_or(terminated, truncated)
    start = tf.broadcast_to(_like(mu, x_tm1), tf.shape(x_tm1))

    def step(
        carry: tuple[tf.Tensor, tf.Tensor], row: tuple[tf.Tensor, tf.Tensor]
    ) -> tuple[tf.Tensor, tf.Tensor]:
        draws, ends = row
        x_t = ou_step(carry[1], draws, theta=theta, sigma=sigma, mu=mu, dt=dt)
        return x_t, tf.where(ends[:, tf.newaxis], start, x_t)

    x_t, states = tf.scan(step, (noise, ended), initializer=(x_tm1, x_tm1))
    return x_t, states[-1]


def linear_decay(step: Any, *, start: float, end: float, decay_steps: int) -> Any:
    """A scale that moves in a straight line."""
    if decay_steps < 1:
        raise ConfigError(f"decay_steps={decay_steps!r}: must be at least 1")
    share = tf.minimum(_steps(step) / decay_steps, 1.0)
    return start + (end - start) * share


def exponential_decay(step: Any, *, start: float, end: float, decay: float) -> Any:
    """A scale that shrinks by a factor per step, down to a floor."""
    _require_decay(start, end, decay)
    return tf.maximum(start * decay ** _steps(step), end)


def epsilon_greedy(q: Any, uniform: Any, random_action: Any, *, epsilon: Any) -> Any:
    """Greedy action, or with probability epsilon the given random one."""
    floating = q.dtype.is_floating and uniform.dtype.is_floating
    if not floating or random_action.dtype != tf.int64:
        raise DtypeError(
            f"q is {q.dtype.name}, uniform {uniform.dtype.name}, "
            f"random_action {random_action.dtype.name}: must be floating, floating, int64"
        )
    rows = q.shape[:1]
    fits = uniform.shape.is_compatible_with(rows) and random_action.shape.is_compatible_with(rows)
    if q.shape.rank != 2 or not fits:
        raise ShapeError(
            f"q has shape {tuple(q.shape)}, uniform {tuple(uniform.shape)}, "
            f"random_action {tuple(random_action.shape)}: must be [B, A], [B], [B]"
        )
    if isinstance(epsilon, Real) and not 0.0 <= float(epsilon) <= 1.0:
        raise ConfigError(f"epsilon={epsilon!r}: must be in [0, 1]")
    draws = tf.cast(uniform, tf.float64)
    explore = draws < _like(epsilon, draws)
    return tf.where(explore, random_action, tf.argmax(q, axis=1, output_type=tf.int64))


def _clip(values: tf.Tensor, low: Any, high: Any) -> tf.Tensor:
    return tf.minimum(tf.maximum(values, _like(low, values)), _like(high, values))


def _like(value: Any, tensor: tf.Tensor) -> tf.Tensor:
    """A number, tuple or tensor in the dtype of ``tensor``.

    ``tf.cast`` of a Python number would round it to float32 on the way.
    """
    if tf.is_tensor(value):
        return tf.cast(value, tensor.dtype)
    return tf.constant(value, tensor.dtype)


def _steps(step: Any) -> tf.Tensor:
    steps = tf.convert_to_tensor(step)
    if not steps.dtype.is_integer:
        raise DtypeError(f"step is {steps.dtype.name}, must be an integer")
    return tf.cast(steps, tf.float64)


def _require_alike(**tensors: tf.Tensor) -> None:
    (first, a), (second, b) = tensors.items()
    if not a.dtype.is_floating or a.dtype != b.dtype:
        raise DtypeError(
            f"{first} is {a.dtype.name}, {second} is {b.dtype.name}: "
            "must be the same floating dtype"
        )
    if not a.shape.is_compatible_with(b.shape):
        raise ShapeError(
            f"{first} has shape {tuple(a.shape)}, {second} {tuple(b.shape)}: must be equal"
        )


def _require_sequence(
    x_tm1: tf.Tensor, noise: tf.Tensor, terminated: tf.Tensor, truncated: tf.Tensor
) -> None:
    steps = noise.shape[0] if noise.shape.rank == 3 else 0
    if steps == 0 or not noise.shape[1:].is_compatible_with(x_tm1.shape):
        raise ShapeError(
            f"noise has shape {tuple(noise.shape)}, "
            f"must be [T, *{tuple(x_tm1.shape)}] with at least one step"
        )
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        if flag.dtype != tf.bool:
            raise DtypeError(f"{name} is {flag.dtype.name}, must be bool")
        if not flag.shape.is_compatible_with(noise.shape[:2]):
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
