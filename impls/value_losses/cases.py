"""Inputs that deep Q-learning is checked on: 13 rows, 5 actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parity.checks.function import FunctionCheck

Inputs = Callable[[np.random.Generator], dict[str, np.ndarray]]
NONE = {"reduction": "none"}
BOTH = ("eager", "xla")
COMPILED = ("double_dqn_target", "batch")
TARGET = ("r_t", "discount_t", "q_t")
DOUBLE = (*TARGET, "selector_q_t")
LOSS = ("q_tm1", "a_tm1", "target")


def _rows(
    *names: str, batch: int = 13, actions: int = 5, scale: float = 1.0, shift: float = 0.0
) -> Inputs:
    """Normal values; some rows terminated; weights as prioritized replay gives them."""

    def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {}
        for name in names:
            if name == "a_tm1":
                arrays[name] = rng.integers(0, actions, batch)
            elif name == "discount_t":
                arrays[name] = 0.99 * (rng.random(batch) > 0.3)
            elif name == "weight":
                arrays[name] = rng.uniform(0.1, 1.0, batch)
            else:
                shape = (batch, actions) if "q_t" in name else (batch,)
                arrays[name] = shift + rng.normal(scale=scale, size=shape)
        return arrays

    return inputs


def _ties(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Selectors of three levels only: most rows have several best actions."""
    arrays = _rows(*DOUBLE)(rng)
    arrays["selector_q_t"] = rng.integers(0, 3, (13, 5)).astype(np.float64)
    return arrays


def _around_delta(delta: float) -> Inputs:
    """Errors at delta, one float32 step around it, at zero and far out; both signs, exact."""

    def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
        edge = np.float32(delta)
        steps = [np.nextafter(edge, np.float32(0.0)), edge, np.nextafter(edge, np.float32(np.inf))]
        errors = np.array([0.0, delta / 2, *steps, 3 * delta], dtype=np.float64)
        chosen = np.concatenate([errors, -errors])
        a_tm1 = rng.integers(0, 5, chosen.size)
        q_tm1 = rng.normal(size=(chosen.size, 5))
        q_tm1[np.arange(chosen.size), a_tm1] = chosen
        return {"q_tm1": q_tm1, "a_tm1": a_tm1, "target": np.zeros(chosen.size)}

    return inputs


_SETTINGS: dict[str, dict[str, Any]] = {
    "batch": {},
    "single-row": {"batch": 1},
    "two-actions": {"actions": 2},
    "negative": {"shift": -5.0},
    "square": {"batch": 5},
    "batch-256": {"batch": 256},
}


def _check(
    name: str,
    case: str,
    inputs: Inputs,
    gradients: tuple[str, ...] = (),
    constant: tuple[str, ...] = (),
    **options: Any,
) -> FunctionCheck:
    return FunctionCheck(
        name=name,
        case=case,
        inputs=inputs,
        options=options,
        gradients=gradients,
        no_gradient=constant,
        per_sample=NONE if name == "q_learning_loss" else None,
        modes=BOTH if case == "weighted" or (name, case) == COMPILED else ("eager",),
    )


def _loss(case: str, inputs: Inputs, *constant: str, **options: Any) -> FunctionCheck:
    return _check("q_learning_loss", case, inputs, ("q_tm1",), ("target", *constant), **options)


CHECKS = (
    *(
        _check("chosen_value", case, _rows("q_tm1", "a_tm1", **kind), ("q_tm1",))
        for case, kind in _SETTINGS.items()
        if case in ("batch", "single-row", "square")
    ),
    *(
        _check("dqn_target", case, _rows(*TARGET, **kind), (), ("r_t", "q_t"))
        for case, kind in _SETTINGS.items()
    ),
    *(
        _check("double_dqn_target", c, _rows(*DOUBLE, **kind), (), ("r_t", "q_t", "selector_q_t"))
        for c, kind in _SETTINGS.items()
    ),
    _check("double_dqn_target", "ties", _ties, (), ("r_t", "q_t", "selector_q_t")),
    *(_loss(case, _rows(*LOSS, **kind)) for case, kind in _SETTINGS.items()),
    _loss("sum", _rows(*LOSS), reduction="sum"),
    _loss("weighted", _rows(*LOSS, "weight"), "weight"),
    _loss("weighted-sum", _rows(*LOSS, "weight"), "weight", reduction="sum"),
    _loss("around-delta-1", _around_delta(1.0)),
    _loss("around-delta-0.1", _around_delta(0.1), delta=0.1),
    _loss("delta-2.5", _rows(*LOSS, scale=3.0), delta=2.5),
)
