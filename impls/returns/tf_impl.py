"""Returns on TensorFlow tensors."""

from __future__ import annotations

from numbers import Real
from typing import Any

import tensorflow as tf

from impls.errors import ConfigError, DtypeError, ShapeError


def discounts(terminated: Any, truncated: Any, gamma: Any, *, dtype: str | None = None) -> Any:
    """The discount of what follows each step: ``gamma * (1 - terminated)``."""
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        if flag.dtype != tf.bool:
            raise DtypeError(f"{name} is {flag.dtype.name}, must be bool")
    if not terminated.shape.is_compatible_with(truncated.shape):
        raise ShapeError(
            f"terminated has shape {tuple(terminated.shape)}, "
            f"truncated {tuple(truncated.shape)}: must be equal"
        )
    if isinstance(gamma, Real):
        if not 0.0 <= float(gamma) <= 1.0:
            raise ConfigError(f"gamma={gamma!r}: must be in [0, 1]")
        scale = tf.constant(gamma, dtype or "float32")
    else:
        scale = tf.convert_to_tensor(gamma)
        scale = scale if dtype is None else tf.cast(scale, dtype)
    return scale * tf.cast(tf.logical_not(terminated), scale.dtype)


def td_target(r_t: Any, discount_t: Any, v_t: Any) -> Any:
    """One-step target: ``r_t + discount_t * v_t``."""
    _require_alike(r_t=r_t, discount_t=discount_t, v_t=v_t)
    return r_t + discount_t * v_t


def n_step_return(r_t: Any, discount_t: Any, v_t: Any, n: int, *, truncated: Any = None) -> Any:
    """Return over at most n steps, bootstrapped from the value where the window ends."""
    _require_steps(truncated, r_t=r_t, discount_t=discount_t, v_t=v_t)
    if n < 1:
        raise ConfigError(f"n={n!r}: a window has at least 1 step")
    g_t = r_t + discount_t * v_t
    for _ in range(min(n, r_t.shape[0] or n) - 1):
        # one step more: the return of one step less, taken from the next row
        following = tf.concat([g_t[1:], v_t[-1:]], axis=0)
        if truncated is not None:
            following = tf.where(truncated, v_t, following)
        g_t = r_t + discount_t * following
    return g_t


def reward_to_go(r_t: Any, discount_t: Any, v_t: Any = None, *, truncated: Any = None) -> Any:
    """Discounted sum of the rewards from each step to the end of its episode."""
    v_t = tf.zeros_like(r_t) if v_t is None else v_t
    _require_steps(truncated, r_t=r_t, discount_t=discount_t, v_t=v_t)
    steps = r_t.shape[0]
    if steps is None:
        raise ShapeError(f"r_t has shape {tuple(r_t.shape)}: T must be known while tracing")
    last = tf.range(steps)[:, tf.newaxis] == steps - 1
    ends = last if truncated is None else tf.logical_or(last, truncated)
    # Each step maps the return that follows it to its own: G_t = sums_t + scales_t * G_{t+span}.
    # Composing the maps of twice the span each time takes log2(T) passes instead of T.
    zeros = tf.zeros_like(r_t)
    sums = r_t + tf.where(ends, discount_t * v_t, zeros)
    scales = tf.where(ends, zeros, discount_t)
    span = 1
    while span < steps:
        later = tf.concat([sums[span:], zeros[:span]], axis=0)
        sums += scales * later
        scales *= tf.concat([scales[span:], zeros[:span]], axis=0)
        span *= 2
    return sums


def _require_alike(**tensors: tf.Tensor) -> None:
    first = next(iter(tensors))
    for name, tensor in tensors.items():
        if not tensor.dtype.is_floating:
            raise DtypeError(f"{name} is {tensor.dtype.name}, must be floating")
        if tensor.dtype != tensors[first].dtype:
            raise DtypeError(
                f"{name} is {tensor.dtype.name}, {first} {tensors[first].dtype.name}: must be equal"
            )
        if not tensor.shape.is_compatible_with(tensors[first].shape):
            raise ShapeError(
                f"{name} has shape {tuple(tensor.shape)}, "
                f"{first} {tuple(tensors[first].shape)}: must be equal"
            )


def _require_steps(truncated: tf.Tensor | None, **tensors: tf.Tensor) -> None:
    _require_alike(**tensors)
    shape = tuple(tensors["r_t"].shape)
    if len(shape) != 2 or (shape[0] is not None and shape[0] < 1):
        raise ShapeError(f"r_t has shape {shape}, must be [T, B] with at least one step")
    if truncated is None:
        return
    if truncated.dtype != tf.bool:
        raise DtypeError(f"truncated is {truncated.dtype.name}, must be bool")
    if not truncated.shape.is_compatible_with(shape):
        raise ShapeError(
            f"truncated has shape {tuple(truncated.shape)}, r_t {shape}: must be equal"
        )
