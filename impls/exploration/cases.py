"""Inputs that exploration is checked on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parity.checks.function import FunctionCheck
from parity.component import Check

Inputs = Callable[[np.random.Generator], dict[str, np.ndarray]]


def _normal(*shape: int, scale: float = 1.0) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.normal(scale=scale, size=shape)


def _inputs(**draws: Callable[[np.random.Generator], np.ndarray]) -> Inputs:
    return lambda rng: {name: draw(rng) for name, draw in draws.items()}


def _sequence(steps: int, batch: int) -> Inputs:
    """Episodes that end either way, both ways, and in mid-sequence."""
    return _inputs(
        x_tm1=_normal(batch, 2),
        noise=_normal(steps, batch, 2),
        terminated=lambda rng: rng.random((steps, batch)) < 0.2,
        truncated=lambda rng: rng.random((steps, batch)) < 0.2,
    )


def _greedy(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Rows with ties, and draws at epsilon, at epsilon rounded to float32, and around them."""
    q = rng.normal(size=(13, 4))
    q[1], q[2, 1:3] = 0.5, 9.0
    uniform = rng.random(13)
    uniform[3:6] = np.float32(EPSILON), np.nextafter(np.float32(EPSILON), np.float32(1)), 0.0
    others = (q.argmax(axis=1) + rng.integers(1, 4, 13)) % 4  # never the greedy one
    return {"q": q, "uniform": uniform, "random_action": others}


def _check(name: str, case: str, inputs: Inputs, /, **fields: Any) -> Check:
    keywords = ("modes", "dtypes", "expect_zero")
    settings = {key: fields.pop(key) for key in keywords if key in fields}
    return FunctionCheck(name=name, case=case, inputs=inputs, options=fields, **settings)


EPSILON = 0.7  # float32 rounds it down
_OU = {"theta": 0.15, "sigma": 0.2, "mu": 0.0}
_NOISY = _inputs(action=_normal(13, 2), noise=_normal(13, 2))
_OU_STATE = _inputs(x_tm1=_normal(13, 2), noise=_normal(13, 2))
_TENSORS = _inputs(
    action=_normal(13, 2),
    noise=_normal(13, 2),
    sigma=lambda rng: rng.uniform(0.1, 2.0, 2),
    low=lambda rng: np.array([-1.0, -2.0]),
    high=lambda rng: np.array([0.5, 2.0]),
)
_STEP = _inputs(step=lambda rng: np.array([0, 1, 499, 500, 501, 7, 2**24 + 1]))
_BOTH = ("eager", "xla")
CHECKS = (
    _check("gaussian_action", "bounded", _NOISY, sigma=0.5, low=-1.0, high=1.5, modes=_BOTH),
    _check("gaussian_action", "tensors-per-dimension", _TENSORS, modes=_BOTH),
    _check(
        "gaussian_action",
        "tuples-per-dimension",
        _NOISY,
        sigma=(0.1, 1.0),
        low=(-1.0, -0.3),
        high=2.0,
    ),
    _check("gaussian_action", "no-noise", _NOISY, sigma=0, low=-9.0, high=9.0),
    _check("gaussian_action", "far-out", _NOISY, sigma=50.0, low=-0.1, high=0.2),
    _check(
        "smoothed_target_action",
        "both-clips-at-work",
        _NOISY,
        sigma=0.2,
        noise_clip=0.25,
        low=-1.0,
        high=1.0,
        modes=_BOTH,
    ),
    _check(
        "smoothed_target_action",
        "per-dimension",
        _TENSORS,
        noise_clip=(0.1, 1.5),
    ),
    _check("ou_step", "unit-time", _OU_STATE, **_OU, dt=1.0),
    _check("ou_step", "small-dt", _OU_STATE, **_OU, dt=0.01, modes=_BOTH),
    _check("ou_step", "moved-mean", _OU_STATE, theta=0.6, sigma=0.3, mu=(1.0, -2.0), dt=0.05),
    _check("ou_step", "no-diffusion", _OU_STATE, theta=0.15, sigma=0.0, mu=0.5, dt=0.05),
    _check("ou_sequence", "episodes", _sequence(7, 13), **_OU, dt=0.05, modes=_BOTH),
    _check(
        "ou_sequence", "moved-mean", _sequence(7, 13), theta=0.6, sigma=0.3, mu=(1.0, -2.0), dt=0.1
    ),
    _check("ou_sequence", "single-step", _sequence(1, 13), **_OU, dt=0.05),
    _check("ou_sequence", "single-environment", _sequence(7, 1), **_OU, dt=0.05),
    _check("linear_decay", "down", _STEP, start=1.0, end=0.1, decay_steps=1000, modes=_BOTH),
    _check("linear_decay", "slow", _STEP, start=1.0, end=0.1, decay_steps=2**25),
    _check("linear_decay", "reached", _STEP, start=1.0, end=0.1, decay_steps=500),
    _check("exponential_decay", "down", _STEP, start=0.9, end=0.05, decay=0.999, modes=_BOTH),
    _check("exponential_decay", "to-zero", _STEP, start=0.9, end=0.0, decay=0.99),
    _check("epsilon_greedy", "mixed", _greedy, epsilon=EPSILON, modes=_BOTH),
    _check("epsilon_greedy", "never-random", _greedy, epsilon=0.0),
    _check("epsilon_greedy", "always-random", _greedy, epsilon=1.0),
)
