"""Losses of deterministic actor-critic methods, on action values that are already computed.

Every array is a vector ``[B]``: one value per row of a batch. Nothing is broadcast: ``[B]`` against
``[B, 1]`` is refused, because it would silently become ``[B, B]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from impls.losses.faults import ERRORS, MUTANTS
from parity.checks.function import FunctionCheck
from parity.component import Component

Array = Any
"""A torch, TensorFlow or NumPy array, by sibling."""


def td_error(q_tm1: Array, target: Array) -> Array:
    """Temporal-difference error.

    ``delta_b = stop_gradient(target_b) - q_tm1_b``

    Source: Sutton and Barto 2018, equation 6.5.

    Args:
        q_tm1: ``[B]``, float, units of return.
        target: ``[B]``, float, units of return; constant: it gets no gradient.

    Returns:
        ``[B]``. Positive where the estimate was too low.

    Raises:
        ShapeError: an argument is not a vector, the lengths differ, or B is 0.
        DtypeError: an argument is not float32 or float64, or the two differ.
    """
    ...


def mse_loss(q_tm1: Array, target: Array, *, reduction: str = "mean") -> Array:
    """Squared TD error.

    ``loss = mean_b (q_tm1_b - stop_gradient(target_b))^2``

    Source: Lillicrap et al. 2016 (DDPG), algorithm 1.

    Args:
        q_tm1: ``[B]``, float, units of return.
        target: ``[B]``, float, units of return; constant: it gets no gradient.
        reduction: ``mean`` over the batch, ``sum``, or ``none``.

    Returns:
        A scalar; ``[B]`` for ``none``.

    Raises:
        ShapeError, DtypeError: as in :func:`td_error`.
        ConfigError: the reduction is unknown.

    Conventions: no factor of one half.
    """
    ...


def huber_loss(
    q_tm1: Array, target: Array, *, delta: float = 1.0, reduction: str = "mean"
) -> Array:
    """Huber loss of the TD error: quadratic near zero, linear beyond ``delta``.

    ``e_b = q_tm1_b - stop_gradient(target_b)``;
    ``loss_b = 0.5 e_b^2`` where ``|e_b| <= delta``, else ``delta (|e_b| - 0.5 delta)``.

    Source: Huber 1964; Mnih et al. 2015 (DQN) clip the error with delta = 1.

    Args:
        q_tm1: ``[B]``, float, units of return.
        target: ``[B]``, float, units of return; constant: it gets no gradient.
        delta: units of return, above 0.
        reduction: ``mean`` over the batch, ``sum``, or ``none``.

    Returns:
        A scalar; ``[B]`` for ``none``.

    Raises:
        ShapeError, DtypeError: as in :func:`td_error`.
        ConfigError: the reduction is unknown, or delta is not finite and above 0.

    Conventions: the half is inside, so the slope is ``e`` up to delta and never above it; value and
    slope are continuous at ``|e| = delta``. That is torch's ``huber_loss``; its
    ``smooth_l1_loss`` divides by beta.
    """
    ...


def twin_critic_loss(
    q1_tm1: Array, q2_tm1: Array, target: Array, *, reduction: str = "mean"
) -> Array:
    """Loss of two critics that regress on one target.

    ``loss = mean_b (q1_tm1_b - y_b)^2 + mean_b (q2_tm1_b - y_b)^2``, ``y = stop_gradient(target)``

    Source: Fujimoto et al. 2018 (TD3), algorithm 1.

    Args:
        q1_tm1, q2_tm1: ``[B]``, float, units of return.
        target: ``[B]``, float, units of return; constant: it gets no gradient.
        reduction: ``mean`` over the batch, ``sum``, or ``none``.

    Returns:
        A scalar; ``[B]``, the sum of both squares per row, for ``none``.

    Raises:
        ShapeError, DtypeError: as in :func:`td_error`.
        ConfigError: the reduction is unknown.

    Conventions: a sum over the critics, not their mean and not the smaller; no factor of one half.
    """
    ...


def dpg_actor_loss(q_tm1: Array, *, reduction: str = "mean") -> Array:
    """Loss whose descent is the deterministic policy gradient.

    ``loss = -mean_b q_tm1_b`` with ``q_tm1_b = Q(s_b, actor(s_b))``

    Source: Silver et al. 2014, equation 9; Fujimoto et al. 2018 (TD3), algorithm 1.

    Args:
        q_tm1: ``[B]``, float, units of return; of the first critic.
        reduction: ``mean`` over the batch, ``sum``, or ``none``.

    Returns:
        A scalar; ``[B]`` for ``none``.

    Raises:
        ShapeError, DtypeError: as in :func:`td_error`.
        ConfigError: the reduction is unknown.
    """
    ...


Inputs = Callable[[np.random.Generator], dict[str, np.ndarray]]
BATCH = 13
NONE = {"reduction": "none"}


def _rows(*names: str, batch: int = BATCH, scale: float = 1.0, shift: float = 0.0) -> Inputs:
    """Independent normal values for each argument."""
    return lambda rng: {name: rng.normal(shift, scale, batch) for name in names}


def _around_delta(delta: float) -> Inputs:
    """Errors of exactly 0 and ``+-delta``, one float32 step beside it, and far off."""

    def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
        edge = np.float32(delta)
        near = [np.nextafter(edge, np.float32(0.0)), edge, np.nextafter(edge, np.float32(np.inf))]
        errors = np.array([0.0, delta / 2, *near, 3 * delta], dtype=np.float64)
        # a target of 0 keeps the difference exact
        return {"q_tm1": np.concatenate([errors, -errors]), "target": np.zeros(2 * len(errors))}

    return inputs


def _cases(name: str, *arguments: str, **fields: Any) -> list[FunctionCheck]:
    """The cases that every loss has; all arguments but ``target`` get a gradient."""
    made: dict[str, tuple[Inputs, Mapping[str, Any]]] = {
        "batch": (_rows(*arguments), {}),
        "single-row": (_rows(*arguments, batch=1), {}),
        "negative": (_rows(*arguments, shift=-5.0), {}),
        "order-100": (_rows(*arguments, scale=100.0), {}),
        "batch-256": (_rows(*arguments, batch=256), {}),
    }
    if name != "td_error":
        made["sum"] = (_rows(*arguments), {"reduction": "sum"})
    return [_check(name, case, *made[case], arguments, **fields) for case in made]


def _check(
    name: str,
    case: str,
    inputs: Inputs,
    options: Mapping[str, Any],
    arguments: Sequence[str],
    **fields: Any,
) -> FunctionCheck:
    return FunctionCheck(
        name=name,
        case=case,
        inputs=inputs,
        options=options,
        gradients=tuple(a for a in arguments if a != "target"),
        no_gradient=tuple(a for a in arguments if a == "target"),
        per_sample=None if name == "td_error" else NONE,
        modes=("eager", "xla") if case == "batch" else ("eager",),
        **fields,
    )


_PAIR = ("q_tm1", "target")
CHECKS = (
    *_cases("td_error", *_PAIR),
    *_cases("mse_loss", *_PAIR),
    *_cases("huber_loss", *_PAIR),
    _check("huber_loss", "around-delta-1", _around_delta(1.0), {}, _PAIR),
    _check("huber_loss", "around-delta-0.1", _around_delta(0.1), {"delta": 0.1}, _PAIR),
    _check("huber_loss", "delta-2.5", _rows(*_PAIR, scale=3.0), {"delta": 2.5}, _PAIR),
    *_cases("twin_critic_loss", "q1_tm1", "q2_tm1", "target"),
    *_cases("dpg_actor_loss", "q_tm1"),
)


COMPONENT = Component(
    name="losses",
    contract=(td_error, mse_loss, huber_loss, twin_critic_loss, dpg_actor_loss),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
