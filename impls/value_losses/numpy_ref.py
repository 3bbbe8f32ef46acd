"""Deep Q-learning in NumPy, float64, row by row as on paper, with hand-written gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.arguments import require_dtype, require_reduction
from impls.losses.config import require_delta
from impls.value_losses.config import require_table

Array = np.ndarray
Cotangents = Mapping[str, Array]


def chosen_value(q_tm1: Any, a_tm1: Any) -> Any:
    require_table({"a_tm1": a_tm1}, q_tm1=q_tm1)
    require_dtype("int64", a_tm1=a_tm1)
    return np.array([q[a] for q, a in zip(q_tm1, a_tm1, strict=True)])


def chosen_value_vjp(*, cotangents: Cotangents, q_tm1: Array, a_tm1: Array) -> dict[str, Array]:
    return {"q_tm1": _at(q_tm1, a_tm1, cotangents["value"])}


def dqn_target(r_t: Any, discount_t: Any, q_t: Any) -> Any:
    require_table({"r_t": r_t, "discount_t": discount_t}, q_t=q_t)
    rows = zip(r_t, discount_t, q_t, strict=True)
    return np.array([r + d * max(q) for r, d, q in rows])


def double_dqn_target(r_t: Any, discount_t: Any, q_t: Any, selector_q_t: Any) -> Any:
    require_table({"r_t": r_t, "discount_t": discount_t}, q_t=q_t, selector_q_t=selector_q_t)
    rows = []
    for r, d, q, selector in zip(r_t, discount_t, q_t, selector_q_t, strict=True):
        best = list(selector).index(max(selector))
        rows.append(r + d * q[best])
    return np.array(rows)


def q_learning_loss(
    q_tm1: Any,
    a_tm1: Any,
    target: Any,
    *,
    weight: Any = None,
    delta: float = 1.0,
    reduction: str = "mean",
) -> Any:
    _require(q_tm1, a_tm1, target, weight)
    require_delta(delta)
    losses = []
    for b, (q, a, y) in enumerate(zip(q_tm1, a_tm1, target, strict=True)):
        error = abs(q[a] - y)
        loss = error**2 / 2.0 if error <= delta else delta * error - delta**2 / 2.0
        losses.append(loss if weight is None else weight[b] * loss)
    return _reduce(np.array(losses), reduction)


def q_learning_loss_vjp(
    *,
    cotangents: Cotangents,
    q_tm1: Array,
    a_tm1: Array,
    target: Array,
    weight: Any = None,
    delta: float = 1.0,
    reduction: str = "mean",
) -> dict[str, Array]:
    share = cotangents["value"] / (len(target) if reduction == "mean" else 1)
    slopes = share * np.clip(chosen_value(q_tm1, a_tm1) - target, -delta, delta)
    return {"q_tm1": _at(q_tm1, a_tm1, slopes if weight is None else slopes * weight)}


def _at(table: Array, index: Array, values: Array) -> Array:
    """Zeros but for one value per row."""
    found = np.zeros_like(table)
    for b, a in enumerate(index):
        found[b, a] = values[b]
    return found


def _reduce(rows: Array, reduction: str) -> Array:
    require_reduction(reduction)
    if reduction == "none":
        return rows
    total = np.asarray(sum(rows))
    return total / len(rows) if reduction == "mean" else total


def _require(q_tm1: Any, a_tm1: Any, target: Any, weight: Any) -> None:
    rows = {"a_tm1": a_tm1, "target": target}
    require_table(rows if weight is None else {**rows, "weight": weight}, q_tm1=q_tm1)
    require_dtype("int64", a_tm1=a_tm1)
