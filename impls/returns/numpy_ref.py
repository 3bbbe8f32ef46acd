"""Returns by their definitions: explicit sums over explicit windows, float64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError


def discounts(terminated: Any, truncated: Any, gamma: Any, *, dtype: str | None = None) -> Any:
    """The discount of what follows each step: ``gamma * (1 - terminated)``."""
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        if flag.dtype != np.bool_:
            raise DtypeError(f"{name} is {flag.dtype}, must be bool")
    if terminated.shape != truncated.shape:
        raise ShapeError(
            f"terminated has shape {terminated.shape}, truncated {truncated.shape}: must be equal"
        )
    if isinstance(gamma, Real) and not 0.0 <= float(gamma) <= 1.0:
        raise ConfigError(f"gamma={gamma!r}: must be in [0, 1]")
    return np.where(terminated, 0.0, np.asarray(gamma, np.float64))


def td_target(r_t: Any, discount_t: Any, v_t: Any) -> Any:
    """One-step target: ``r_t + discount_t * v_t``."""
    _require_alike(r_t=r_t, discount_t=discount_t, v_t=v_t)
    return r_t + discount_t * v_t


def td_target_vjp(
    *, cotangents: Mapping[str, Any], r_t: Any, discount_t: Any, v_t: Any
) -> dict[str, Any]:
    """Gradients of ``sum(cotangent * td_target)``."""
    value = cotangents["value"]
    return {"r_t": value * np.ones_like(r_t), "discount_t": value * v_t, "v_t": value * discount_t}


def n_step_return(r_t: Any, discount_t: Any, v_t: Any, n: int, *, truncated: Any = None) -> Any:
    """Return over at most n steps, bootstrapped from the value where the window ends."""
    _require_steps(truncated, r_t=r_t, discount_t=discount_t, v_t=v_t)
    if n < 1:
        raise ConfigError(f"n={n!r}: a window has at least 1 step")
    g_t = np.zeros_like(r_t)
    for t, b, steps in _windows(r_t.shape, n, truncated):
        for k in range(steps):
            g_t[t, b] += np.prod(discount_t[t : t + k, b]) * r_t[t + k, b]
        g_t[t, b] += np.prod(discount_t[t : t + steps, b]) * v_t[t + steps - 1, b]
    return g_t


def n_step_return_vjp(
    *,
    cotangents: Mapping[str, Any],
    r_t: Any,
    discount_t: Any,
    v_t: Any,
    n: int,
    truncated: Any = None,
) -> dict[str, Any]:
    """Gradients of ``sum(cotangent * n_step_return)`` in the rewards and the values."""
    value = cotangents["value"]
    r_grad, v_grad = np.zeros_like(r_t), np.zeros_like(v_t)
    for t, b, steps in _windows(r_t.shape, n, truncated):
        for k in range(steps):
            r_grad[t + k, b] += value[t, b] * np.prod(discount_t[t : t + k, b])
        v_grad[t + steps - 1, b] += value[t, b] * np.prod(discount_t[t : t + steps, b])
    return {"r_t": r_grad, "v_t": v_grad}


def reward_to_go(r_t: Any, discount_t: Any, v_t: Any = None, *, truncated: Any = None) -> Any:
    """Discounted sum of the rewards from each step to the end of its episode."""
    v_t = np.zeros_like(r_t) if v_t is None else v_t
    _require_steps(truncated, r_t=r_t, discount_t=discount_t, v_t=v_t)
    return n_step_return(r_t, discount_t, v_t, len(r_t), truncated=truncated)


def reward_to_go_vjp(
    *,
    cotangents: Mapping[str, Any],
    r_t: Any,
    discount_t: Any,
    v_t: Any = None,
    truncated: Any = None,
) -> dict[str, Any]:
    """Gradients of ``sum(cotangent * reward_to_go)`` in the rewards and the values."""
    values = np.zeros_like(r_t) if v_t is None else v_t
    found = n_step_return_vjp(
        cotangents=cotangents,
        r_t=r_t,
        discount_t=discount_t,
        v_t=values,
        n=len(r_t),
        truncated=truncated,
    )
    return {name: array for name, array in found.items() if name == "r_t" or v_t is not None}


def _windows(shape: tuple[int, int], n: int, truncated: Any) -> Iterator[tuple[int, int, int]]:
    """Yield (t, b, number of steps) of every window."""
    for t in range(shape[0]):
        for b in range(shape[1]):
            steps = min(n, shape[0] - t)
            if truncated is not None and truncated[t : t + steps, b].any():
                steps = int(np.argmax(truncated[t : t + steps, b])) + 1
            yield t, b, steps


def _require_alike(**arrays: Any) -> None:
    first = next(iter(arrays))
    for name, array in arrays.items():
        if array.dtype.kind != "f":
            raise DtypeError(f"{name} is {array.dtype}, must be floating")
        if array.dtype != arrays[first].dtype:
            raise DtypeError(
                f"{name} is {array.dtype}, {first} {arrays[first].dtype}: must be equal"
            )
        if array.shape != arrays[first].shape:
            raise ShapeError(
                f"{name} has shape {array.shape}, {first} {arrays[first].shape}: must be equal"
            )


def _require_steps(truncated: Any, **arrays: Any) -> None:
    _require_alike(**arrays)
    shape = arrays["r_t"].shape
    if len(shape) != 2 or shape[0] < 1:
        raise ShapeError(f"r_t has shape {shape}, must be [T, B] with at least one step")
    if truncated is None:
        return
    if truncated.dtype != np.bool_:
        raise DtypeError(f"truncated is {truncated.dtype}, must be bool")
    if truncated.shape != shape:
        raise ShapeError(f"truncated has shape {truncated.shape}, r_t {shape}: must be equal")
