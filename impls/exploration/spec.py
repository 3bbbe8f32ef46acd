"""Exploration: noise on actions, its decay, target smoothing, epsilon-greedy.

Random draws are arguments (standard normal ``noise``, ``uniform`` in [0, 1)), so that every side
can be given the same ones. Scales and bounds may be Python numbers, tuples with one number per
action dimension, or tensors; inside a compiled step whatever changes between calls has to be a
tensor, because a Python number is frozen there. The ranges of tensors are not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError
from parity.checks.function import FunctionCheck
from parity.component import Check, Component, ErrorCase, Mutant, Side

Inputs = Callable[[np.random.Generator], dict[str, np.ndarray]]


def gaussian_action(action: Any, noise: Any, *, sigma: Any, low: Any, high: Any) -> Any:
    """Action with Gaussian noise, kept in bounds: ``clip(action + sigma * noise, low, high)``.

    Source: Fujimoto et al. 2018, "Addressing function approximation error in actor-critic methods",
    algorithm 1 (a ~ pi(s) + epsilon, epsilon ~ N(0, sigma)).

    Args:
        action: [B, act], floating.
        noise: [B, act], same dtype: standard normal draws.
        sigma: standard deviation, at least 0, in units of the action; scalar or [act]. Fujimoto
            et al. use 0.1 times the largest action.
        low, high: bounds of the action; scalar or [act].

    Returns:
        [B, act], same dtype.

    Raises:
        ShapeError: action and noise differ in shape.
        DtypeError: their dtypes differ or are not floating.
        ConfigError: a number sigma is negative, or a number low exceeds a number high.
    """
    ...


def smoothed_target_action(
    action: Any, noise: Any, *, sigma: Any, noise_clip: Any, low: Any, high: Any
) -> Any:
    """Target policy smoothing: noise is clipped first, then the action.

        clip(action + clip(sigma * noise, -noise_clip, noise_clip), low, high)

    Source: Fujimoto et al. 2018, equation 14 and algorithm 1.

    Args:
        action: [B, act], floating: action of the target policy.
        noise: [B, act], same dtype: standard normal draws.
        sigma: as in :func:`gaussian_action`; Fujimoto et al. use 0.2 times the largest action.
        noise_clip: largest magnitude of the noise after scaling, at least 0, in units of the
            action; scalar or [act]; 0.5 times the largest action there.
        low, high: bounds of the action; scalar or [act].

    Returns:
        [B, act], same dtype.

    Raises:
        ShapeError, DtypeError, ConfigError: as :func:`gaussian_action`; a number noise_clip is
            negative.
    """
    ...


def ou_step(x_tm1: Any, noise: Any, *, theta: Any, sigma: Any, mu: Any, dt: Any) -> Any:
    """One Euler-Maruyama step of an Ornstein-Uhlenbeck process.

        x_t = x_tm1 + theta * (mu - x_tm1) * dt + sigma * sqrt(dt) * noise

    Source: Uhlenbeck & Ornstein 1930, "On the theory of the Brownian motion"; Lillicrap et al.
    2016, section 7 (theta = 0.15, sigma = 0.2), which leaves dt out, that is dt = 1.

    Args:
        x_tm1: [B, act], floating: the process before the step.
        noise: [B, act], same dtype: standard normal draws.
        theta: rate of reversion per unit of time, at least 0.
        sigma: diffusion per square root of time, at least 0.
        mu: mean that the process reverts to; scalar or [act].
        dt: time step, above 0, in the unit of theta.

    Returns:
        [B, act], same dtype.

    Raises:
        ShapeError: x_tm1 and noise differ in shape.
        DtypeError: their dtypes differ or are not floating.
        ConfigError: a number theta or sigma is negative, or dt is not above 0.
    """
    ...


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
    """An Ornstein-Uhlenbeck process over time that starts afresh at ``mu`` with each episode.

        x_t       = ou_step(state_t, noise_t)
        state_t+1 = mu     if terminated_t or truncated_t
                    x_t    otherwise

    Source: Lillicrap et al. 2016, algorithm 1 (a random process is initialised per episode).

    Args:
        x_tm1: [B, act], floating: the state before the first step.
        noise: [T, B, act], same dtype: standard normal draws.
        terminated, truncated: [T, B], bool: the episode ended after this step, either way.
        theta, sigma, mu, dt: as in :func:`ou_step`.

    Returns:
        x [T, B, act], same dtype: the noise of each step; and the state [B, act] to continue from.

    Raises:
        ShapeError: the shapes do not fit together, or T is 0.
        DtypeError: floating dtypes differ, or a flag is not bool.
        ConfigError: as :func:`ou_step`.
    """
    ...


def linear_decay(step: Any, *, start: float, end: float, decay_steps: int) -> Any:
    """A scale that moves in a straight line from start to end, then stays.

        start + (end - start) * min(step / decay_steps, 1)

    Source: Mnih et al. 2015, section Methods (epsilon from 1.0 to 0.1 over 1e6 frames, then fixed).

    Args:
        step: integer of at least 0, any shape: a Python number or, in a compiled step, a tensor.
        start, end: the scale at step 0 and from ``decay_steps`` on.
        decay_steps: at least 1.

    Returns:
        The shape of ``step``, float64 whatever dtype the actions have: float32 counts steps only
        up to 2**24.

    Raises:
        ConfigError: decay_steps is below 1.
        DtypeError: step is not an integer.
    """
    ...


def exponential_decay(step: Any, *, start: float, end: float, decay: float) -> Any:
    """A scale that shrinks by a factor per step, down to a floor.

        max(start * decay**step, end)

    Args:
        step: integer of at least 0, any shape: a Python number or, in a compiled step, a tensor.
        start: the scale at step 0, above 0.
        end: the smallest scale, in [0, start].
        decay: factor per step, in (0, 1].

    Returns:
        The shape of ``step``, float64.

    Raises:
        ConfigError: start, end or decay is out of range.
        DtypeError: step is not an integer.
    """
    ...


def epsilon_greedy(q: Any, uniform: Any, random_action: Any, *, epsilon: Any) -> Any:
    """Greedy action, or with probability epsilon the given random one.

        random_action     if uniform < epsilon
        argmax_a q(a)     otherwise

    Source: Sutton & Barto 2018, section 2.2.

    Args:
        q: [B, A], floating: action values.
        uniform: [B], floating: draws in [0, 1).
        random_action: [B], int64: draws from {0, ..., A - 1}.
        epsilon: in [0, 1]; 0 is never random, 1 always.

    Returns:
        [B], int64.

    Raises:
        ShapeError: the shapes do not fit together.
        DtypeError: q or uniform is not floating, or random_action is not int64.
        ConfigError: a number epsilon is out of range.

    Conventions: among equal values the lowest action is taken. The draw is compared in float64,
    because an epsilon rounded to float32 can pass a draw by.
    """
    ...


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
    return {"q": q, "uniform": uniform, "random_action": rng.integers(0, 4, 13)}


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

_OU_FORMULA = "x_tm1 + rate * (mean - x_tm1) * time + scale * tf.sqrt(time) * noise"
MUTANTS = (
    Mutant(
        id="action-not-clipped",
        find="return _clip(action + _like(sigma, action) * noise, low, high)",
        replace="return action + _like(sigma, action) * noise",
        caught_by="function.gaussian_action",
        because="the environment is trusted to clip",
    ),
    Mutant(
        id="clipped-before-the-noise",
        find="return _clip(action + _like(sigma, action) * noise, low, high)",
        replace="return _clip(action, low, high) + _like(sigma, action) * noise",
        caught_by="function.gaussian_action",
        because="the bounds are applied to the action without its noise",
    ),
    Mutant(
        id="sigma-is-the-variance",
        find="return _clip(action + _like(sigma, action) * noise, low, high)",
        replace="return _clip(action + tf.sqrt(_like(sigma, action)) * noise, low, high)",
        caught_by="function.gaussian_action",
        because="sigma taken for sigma squared",
    ),
    Mutant(
        id="symmetric-bounds",
        find="tf.minimum(tf.maximum(values, _like(low, values)), _like(high, values))",
        replace="tf.minimum(tf.maximum(values, -_like(high, values)), _like(high, values))",
        caught_by="function.gaussian_action",
        because="low assumed to be -high",
    ),
    Mutant(
        id="noise-not-clipped",
        find="scaled = _clip(_like(sigma, action) * noise, -limit, limit)",
        replace="scaled = _like(sigma, action) * noise",
        caught_by="function.smoothed_target_action",
        because="the clip of the noise is left out",
    ),
    Mutant(
        id="noise-clipped-before-scaling",
        find="scaled = _clip(_like(sigma, action) * noise, -limit, limit)",
        replace="scaled = _like(sigma, action) * _clip(noise, -limit, limit)",
        caught_by="function.smoothed_target_action",
        because="the limit is applied to standard normal draws",
    ),
    Mutant(
        id="dt-forgotten",
        find=_OU_FORMULA,
        replace="x_tm1 + rate * (mean - x_tm1) + scale * noise",
        caught_by="function.ou_step",
        because="one step per unit of time, as in the paper's own code",
    ),
    Mutant(
        id="diffusion-with-dt",
        find=_OU_FORMULA,
        replace="x_tm1 + rate * (mean - x_tm1) * time + scale * time * noise",
        caught_by="function.ou_step",
        because="noise scaled by dt instead of its root",
    ),
    Mutant(
        id="reverts-away-from-the-mean",
        find=_OU_FORMULA,
        replace="x_tm1 + rate * (x_tm1 - mean) * time + scale * tf.sqrt(time) * noise",
        caught_by="function.ou_step",
        because="sign of the drift",
    ),
    Mutant(
        id="number-through-float32",
        find="    return tf.constant(value, tensor.dtype)",
        replace="    return tf.cast(value, tensor.dtype)",
        caught_by="function.ou_step",
        because="tf.cast turns a Python number into a float32 tensor before it casts",
    ),
    Mutant(
        id="no-reset-at-time-limits",
        find="ended = tf.logical_or(terminated, truncated)",
        replace="ended = terminated",
        caught_by="function.ou_sequence",
        because="only termination starts a new episode",
    ),
    Mutant(
        id="reset-one-step-early",
        find="return x_t, tf.where(ends[:, tf.newaxis], start, x_t)",
        replace="x_t = tf.where(ends[:, tf.newaxis], start, x_t)\n        return x_t, x_t",
        caught_by="function.ou_sequence",
        because="the last step of an episode already gets the noise of the next",
    ),
    Mutant(
        id="reset-to-zero",
        find="torch.where(ended[t, :, None], start, x_t)",
        replace="torch.where(ended[t, :, None], 0.0, x_t)",
        caught_by="function.ou_sequence",
        because="an episode starts at 0, whatever the mean is",
        sibling="torch",
        case="moved-mean",
    ),
    Mutant(
        id="decays-past-the-end",
        find="share = tf.minimum(_steps(step) / decay_steps, 1.0)",
        replace="share = _steps(step) / decay_steps",
        caught_by="function.linear_decay",
        because="the schedule is not held at its end",
    ),
    Mutant(
        id="steps-in-float32",
        find="return tf.cast(steps, tf.float64)",
        replace="return tf.cast(tf.cast(steps, tf.float32), tf.float64)",
        caught_by="function.linear_decay",
        because="float32 counts steps up to 2**24",
        case="slow",
    ),
    Mutant(
        id="no-floor",
        find="return tf.maximum(start * decay ** _steps(step), end)",
        replace="return start * decay ** _steps(step)",
        caught_by="function.exponential_decay",
        because="the floor is left out",
    ),
    Mutant(
        id="epsilon-is-the-greedy-share",
        find="explore = draws < _like(epsilon, draws)",
        replace="explore = draws > _like(epsilon, draws)",
        caught_by="function.epsilon_greedy",
        because="comparison the wrong way round",
    ),
    Mutant(
        id="epsilon-in-float32",
        find="draws = tf.cast(uniform, tf.float64)",
        replace="draws = tf.cast(uniform, tf.float32)",
        caught_by="function.epsilon_greedy",
        because="an epsilon rounded to float32 decides differently at the boundary",
        case="mixed",
    ),
)


def _call(name: str, *arrays: np.ndarray, **options: Any) -> Callable[[Side], Any]:
    """Call with arrays in the run's dtype."""

    def call(side: Side) -> Any:
        tensors = [side.backend.tensor(a, dtype=side.dtype, device=side.device) for a in arrays]
        return getattr(side.impl, name)(*tensors, **options)

    return call


_ROWS, _COLUMN, _COUNTS = np.ones((13, 2)), np.ones((13, 1)), np.ones((13, 2), np.int64)
_TIME, _NO = np.ones((7, 13, 2)), np.zeros((7, 13), np.bool_)
_VECTOR, _ACTIONS = np.ones(13), np.ones(13, np.int64)
_BOX, _PROCESS = {"low": -1.0, "high": 1.0}, {**_OU, "dt": 0.1}
ERRORS = tuple(
    ErrorCase(case, call, error, match)
    for case, call, error, match in (
        (
            "noise-would-broadcast",
            _call("gaussian_action", _ROWS, _COLUMN, sigma=0.1, **_BOX),
            ShapeError,
            r"noise \(13, 1\)",
        ),
        (
            "sigma-negative",
            _call("gaussian_action", _ROWS, _ROWS, sigma=-0.1, **_BOX),
            ConfigError,
            "sigma=-0.1",
        ),
        (
            "bounds-exchanged",
            _call("gaussian_action", _ROWS, _ROWS, sigma=0.1, low=1.0, high=-1.0),
            ConfigError,
            "low=1.0, high=-1.0",
        ),
        (
            "action-of-integers",
            _call("gaussian_action", _COUNTS, _COUNTS, sigma=0.1, **_BOX),
            DtypeError,
            "action is .*int64",
        ),
        (
            "noise-clip-negative",
            _call("smoothed_target_action", _ROWS, _ROWS, sigma=0.1, noise_clip=-0.5, **_BOX),
            ConfigError,
            "noise_clip=-0.5",
        ),
        ("dt-zero", _call("ou_step", _ROWS, _ROWS, **_OU, dt=0.0), ConfigError, "dt=0.0"),
        (
            "flags-transposed",
            _call("ou_sequence", _ROWS, _TIME, _NO, _NO.T, **_PROCESS),
            ShapeError,
            r"truncated has shape \(13, 7\)",
        ),
        (
            "no-steps",
            _call("ou_sequence", _ROWS, _TIME[:0], _NO[:0], _NO[:0], **_PROCESS),
            ShapeError,
            "at least one step",
        ),
        (
            "decay-steps-zero",
            _call("linear_decay", _ACTIONS, start=1.0, end=0.1, decay_steps=0),
            ConfigError,
            "decay_steps=0",
        ),
        (
            "step-as-float",
            _call("exponential_decay", _VECTOR, start=1.0, end=0.1, decay=0.9),
            DtypeError,
            "step is .*float",
        ),
        (
            "floor-above-start",
            _call("exponential_decay", _ACTIONS, start=0.1, end=1.0, decay=0.9),
            ConfigError,
            "end=1.0",
        ),
        (
            "epsilon-above-one",
            _call("epsilon_greedy", _ROWS, _VECTOR, _ACTIONS, epsilon=1.5),
            ConfigError,
            "epsilon=1.5",
        ),
        (
            "uniform-per-action",
            _call("epsilon_greedy", _ROWS, _ROWS, _ACTIONS, epsilon=0.5),
            ShapeError,
            r"uniform \(13, 2\)",
        ),
    )
)

COMPONENT = Component(
    name="exploration",
    contract=(
        gaussian_action,
        smoothed_target_action,
        ou_step,
        ou_sequence,
        linear_decay,
        exponential_decay,
        epsilon_greedy,
    ),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
