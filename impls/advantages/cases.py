"""Inputs that the advantages are checked on: time-major, mostly ``[7, 13]``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parity.checks.function import FunctionCheck
from parity.component import Check

Inputs = Callable[[np.random.Generator], dict[str, np.ndarray]]
BOTH = ("eager", "xla")
VALUES = ("r_t", "discount_t", "v_tm1", "v_t")
RETURNS = ("r_t", "discount_t", "v_t")
TRACES = (*VALUES, "log_pi_tm1", "log_mu_tm1")


def _steps(
    *names: str, steps: int = 7, batch: int = 13, truncate: bool = True, terminate: bool = True
) -> Inputs:
    """Rewards of either sign, terminations in mid-sequence, a discount per step.

    The values before and after a step are drawn apart from each other, so that no side can take
    the one for the other.
    """

    def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
        shape = (steps, batch)
        terminated = rng.random(shape) < (0.2 if terminate else 0.0)
        arrays = {
            "r_t": rng.normal(scale=0.5, size=shape),
            "discount_t": rng.uniform(0.8, 1.0, shape) * ~terminated,
            "v_tm1": rng.normal(scale=0.5, size=shape),
            "v_t": rng.normal(scale=0.5, size=shape),
            "log_pi_tm1": -rng.random(shape),
            "log_mu_tm1": -rng.random(shape),
        }
        found = {name: arrays[name] for name in names}
        return {**found, "truncated": rng.random(shape) < 0.3} if truncate else found

    return inputs


def _all_negative(*names: str) -> Inputs:
    """Costs, and values far below them.

    Of moderate size: an advantage is a difference of values, so float32 keeps 1e-6 of the values.
    """

    def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
        arrays = _steps(*names)(rng)
        for name in ("v_tm1", "v_t"):
            if name in arrays:
                arrays[name] = -2.0 - 2.0 * rng.random((7, 13))
        return {**arrays, "r_t": -0.5 * rng.random((7, 13))}

    return inputs


def _with_lambda(inputs: Inputs) -> Inputs:
    return lambda rng: {**inputs(rng), "lambda_": np.asarray(0.9)}


def _on_policy(rng: np.random.Generator) -> dict[str, np.ndarray]:
    arrays = _steps(*TRACES)(rng)
    return {**arrays, "log_pi_tm1": arrays["log_mu_tm1"]}


def _normal(*shape: int, shift: float = 0.0) -> Inputs:
    return lambda rng: {"advantage": shift + rng.normal(scale=2.0, size=shape)}


def _cases(name: str, arguments: tuple[str, ...], **fields: Any) -> list[Check]:
    """The cases that every recursion has."""
    made: dict[str, tuple[Inputs, dict[str, Any]]] = {
        "truncated": (_steps(*arguments), {"lambda_": 0.95}),
        "terminated-only": (_steps(*arguments, truncate=False), {"lambda_": 0.95}),
        "never-ending": (_steps(*arguments, truncate=False, terminate=False), {"lambda_": 0.5}),
        "lambda-zero": (_steps(*arguments), {"lambda_": 0.0}),
        "lambda-one": (_steps(*arguments), {"lambda_": 1.0}),
        "lambda-as-tensor": (_with_lambda(_steps(*arguments)), {}),
        "all-negative": (_all_negative(*arguments), {"lambda_": 0.95}),
        "single-step-data": (_steps(*arguments, steps=1), {"lambda_": 0.95}),
        "single-environment": (_steps(*arguments, batch=1), {"lambda_": 0.95}),
        "square": (_steps(*arguments, steps=5, batch=5), {"lambda_": 0.95}),
        "long": (_steps(*arguments, steps=101, batch=3), {"lambda_": 0.95}),
    }
    return [
        FunctionCheck(
            name=name,
            case=case,
            inputs=inputs,
            options=options,
            modes=BOTH if case == "truncated" else ("eager",),
            **fields,
        )
        for case, (inputs, options) in made.items()
    ]


def _vtrace(case: str, inputs: Inputs, **options: Any) -> Check:
    return FunctionCheck(
        name="vtrace", case=case, inputs=inputs, options=options, no_gradient=_CONSTANT
    )


_CONSTANT = ("r_t", "v_tm1", "v_t", "log_pi_tm1", "log_mu_tm1")
CHECKS = (
    *_cases("gae", VALUES, no_gradient=("r_t", "v_tm1", "v_t")),
    *_cases("lambda_returns", RETURNS, gradients=("r_t", "v_t")),
    *_cases("vtrace", TRACES, no_gradient=_CONSTANT),
    _vtrace("paper", _steps(*TRACES)),
    _vtrace("clips-differ", _steps(*TRACES), rho_bar=2.0, c_bar=1.25),
    _vtrace("clips-out-of-reach", _steps(*TRACES), rho_bar=100.0, c_bar=100.0, lambda_=0.9),
    _vtrace("on-policy", _on_policy, lambda_=0.9),
    *(
        FunctionCheck(
            name="normalize_advantage",
            case=case,
            inputs=inputs,
            options=options,
            no_gradient=("advantage",),
            modes=BOTH if case == "minibatch" else ("eager",),
        )
        for case, inputs, options in (
            ("minibatch", _normal(13), {}),
            ("sequence", _normal(7, 13), {}),
            ("square", _normal(5, 5), {}),
            ("two-rows", _normal(2), {}),
            ("shifted", _normal(64, shift=5.0), {}),
            ("epsilon", _normal(13), {"epsilon": 0.1}),
        )
    ),
)
