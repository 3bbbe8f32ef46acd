"""Inputs that the returns are checked on: time-major, mostly ``[7, 13]``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parity.checks.function import FunctionCheck
from parity.component import Check

Inputs = Callable[[np.random.Generator], dict[str, np.ndarray]]


def _steps(
    steps: int = 7, batch: int = 13, *, truncate: bool = False, terminate: bool = True
) -> Inputs:
    """Rewards of either sign, terminations in mid-sequence, a discount per step."""

    def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
        shape = (steps, batch)
        terminated = rng.random(shape) < (0.2 if terminate else 0.0)
        arrays: dict[str, np.ndarray] = {
            "r_t": rng.normal(size=shape),
            "discount_t": rng.uniform(0.8, 1.0, shape) * ~terminated,
            "v_t": rng.normal(size=shape),
        }
        if truncate:  # some steps are both
            arrays["truncated"] = rng.random(shape) < 0.3
        return arrays

    return inputs


def _rewards_only(rng: np.random.Generator) -> dict[str, np.ndarray]:
    arrays = _steps()(rng)
    return {"r_t": arrays["r_t"], "discount_t": arrays["discount_t"]}


def _batch(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {name: array[0] for name, array in _steps(1)(rng).items()}


def _flags(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """All four combinations of the two flags."""
    return {"terminated": rng.random((7, 13)) < 0.3, "truncated": rng.random((7, 13)) < 0.3}


def _all_negative(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Rewards in [-16, 0] and values far below them, as on Pendulum."""
    arrays = _steps(truncate=True)(rng)
    return {
        **arrays,
        "r_t": -16.0 * rng.random((7, 13)),
        "v_t": -100.0 - 300.0 * rng.random((7, 13)),
    }


def _flags_and_gamma(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {**_flags(rng), "gamma": np.asarray(0.99)}


def _n_step(case: str, n: int, inputs: Inputs, **fields: Any) -> Check:
    fields = {"gradients": ("r_t", "v_t"), **fields}
    return FunctionCheck(name="n_step_return", case=case, inputs=inputs, options={"n": n}, **fields)


def _to_go(case: str, inputs: Inputs, **fields: Any) -> Check:
    fields = {"gradients": ("r_t", "v_t"), **fields}
    return FunctionCheck(name="reward_to_go", case=case, inputs=inputs, **fields)


CHECKS = (
    FunctionCheck(
        name="discounts", case="tensor-gamma", inputs=_flags_and_gamma, modes=("eager", "xla")
    ),
    *(
        FunctionCheck(
            name="discounts",
            case=f"number-{dtype}",
            inputs=_flags,
            options={"gamma": 0.99, "dtype": dtype},
            dtypes=(dtype,),
        )
        for dtype in ("float32", "float64")
    ),
    FunctionCheck(
        name="discounts",
        case="number-default-dtype",
        inputs=_flags,
        options={"gamma": 0.99},
        dtypes=("float32",),
    ),
    FunctionCheck(
        name="discounts",
        case="tensor-gamma-cast",
        inputs=lambda rng: {**_flags(rng), "gamma": np.asarray(0.5)},  # float32 holds it
        options={"dtype": "float32"},
        dtypes=("float64",),
    ),
    FunctionCheck(
        name="td_target",
        case="batch",
        inputs=_batch,
        gradients=("r_t", "discount_t", "v_t"),
        modes=("eager", "xla"),
    ),
    FunctionCheck(
        name="td_target", case="sequence", inputs=_steps(), gradients=("r_t", "discount_t", "v_t")
    ),
    _n_step("one-step", 1, _steps()),
    _n_step("three-steps", 3, _steps(), modes=("eager", "xla")),
    _n_step("three-steps-truncated", 3, _steps(truncate=True), modes=("eager", "xla")),
    _n_step("whole-sequence", 7, _steps(truncate=True)),
    _n_step("n-beyond-the-data", 20, _steps()),
    _n_step("never-ending", 4, _steps(terminate=False)),
    _n_step("all-negative", 4, _all_negative),
    _n_step("single-step-data", 3, _steps(1, truncate=True)),
    _n_step("single-environment", 3, _steps(7, 1, truncate=True)),
    _n_step("square", 3, _steps(5, 5, truncate=True)),
    _to_go("rewards-only", _rewards_only, gradients=("r_t",), modes=("eager", "xla")),
    _to_go("bootstrapped", _steps()),
    _to_go("all-negative", _all_negative),
    _to_go("truncated", _steps(truncate=True), modes=("eager", "xla")),
    _to_go("single-step-data", _steps(1)),
    _to_go("single-environment", _steps(7, 1, truncate=True)),
    _to_go("square", _steps(5, 5, truncate=True)),
    _to_go("long", _steps(101, 3, truncate=True)),
    # one more than a power of two, and nothing cut: the first reward depends on the last value
    _to_go("two-steps", _steps(2, terminate=False)),
    _to_go("five-steps", _steps(5, terminate=False)),
)
