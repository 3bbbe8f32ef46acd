"""Losses in NumPy, float64, row by row as on paper, with hand-written gradients: see ``spec.py``.

Each ``<name>_vjp`` takes the gradient of a scalar with respect to the function's output and returns
it with respect to each input that has one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from impls.losses.config import require_delta, require_reduction, require_vectors

Array = np.ndarray


def td_error(q_tm1: Array, target: Array) -> Array:
    _require_vectors(q_tm1=q_tm1, target=target)
    return np.array([y - q for q, y in zip(q_tm1, target, strict=True)])


def td_error_vjp(
    *, cotangents: Mapping[str, Array], q_tm1: Array, target: Array
) -> dict[str, Array]:
    return {"q_tm1": -cotangents["value"]}


def mse_loss(q_tm1: Array, target: Array, *, reduction: str = "mean") -> Array:
    _require_vectors(q_tm1=q_tm1, target=target)
    rows = np.array([(q - y) ** 2 for q, y in zip(q_tm1, target, strict=True)])
    return _reduce(rows, reduction)


def mse_loss_vjp(
    *, cotangents: Mapping[str, Array], q_tm1: Array, target: Array, reduction: str = "mean"
) -> dict[str, Array]:
    weight = _row_weights(cotangents["value"], len(q_tm1), reduction)
    return {"q_tm1": weight * 2.0 * (q_tm1 - target)}


def huber_loss(
    q_tm1: Array, target: Array, *, delta: float = 1.0, reduction: str = "mean"
) -> Array:
    _require_vectors(q_tm1=q_tm1, target=target)
    require_delta(delta)
    rows = []
    for q, y in zip(q_tm1, target, strict=True):
        error = abs(q - y)
        rows.append(error**2 / 2.0 if error <= delta else delta * error - delta**2 / 2.0)
    return _reduce(np.array(rows), reduction)


def huber_loss_vjp(
    *,
    cotangents: Mapping[str, Array],
    q_tm1: Array,
    target: Array,
    delta: float = 1.0,
    reduction: str = "mean",
) -> dict[str, Array]:
    weight = _row_weights(cotangents["value"], len(q_tm1), reduction)
    return {"q_tm1": weight * np.clip(q_tm1 - target, -delta, delta)}


def twin_critic_loss(
    q1_tm1: Array, q2_tm1: Array, target: Array, *, reduction: str = "mean"
) -> Array:
    _require_vectors(q1_tm1=q1_tm1, q2_tm1=q2_tm1, target=target)
    first = mse_loss(q1_tm1, target, reduction=reduction)
    return first + mse_loss(q2_tm1, target, reduction=reduction)


def twin_critic_loss_vjp(
    *,
    cotangents: Mapping[str, Array],
    q1_tm1: Array,
    q2_tm1: Array,
    target: Array,
    reduction: str = "mean",
) -> dict[str, Array]:
    weight = _row_weights(cotangents["value"], len(target), reduction)
    return {
        "q1_tm1": weight * 2.0 * (q1_tm1 - target),
        "q2_tm1": weight * 2.0 * (q2_tm1 - target),
    }


def dpg_actor_loss(q_tm1: Array, *, reduction: str = "mean") -> Array:
    _require_vectors(q_tm1=q_tm1)
    return _reduce(np.array([-q for q in q_tm1]), reduction)


def dpg_actor_loss_vjp(
    *, cotangents: Mapping[str, Array], q_tm1: Array, reduction: str = "mean"
) -> dict[str, Array]:
    return {"q_tm1": -_row_weights(cotangents["value"], len(q_tm1), reduction)}


def _reduce(rows: Array, reduction: str) -> Array:
    require_reduction(reduction)
    if reduction == "none":
        return rows
    total = np.asarray(sum(rows))
    return total / len(rows) if reduction == "mean" else total


def _row_weights(cotangent: Array, batch_size: int, reduction: str) -> Array:
    """Gradient of the scalar with respect to each row's loss."""
    if reduction == "mean":
        return np.full(batch_size, cotangent / batch_size)
    return np.broadcast_to(cotangent, (batch_size,)).copy()


def _require_vectors(**arrays: Array) -> None:
    require_vectors(
        {name: array.shape for name, array in arrays.items()},
        {name: str(array.dtype) for name, array in arrays.items()},
    )
