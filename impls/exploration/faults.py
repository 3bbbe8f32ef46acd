"""Bugs planted in exploration, and misuses that it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ShapeError
from parity.component import ErrorCase, Mutant, Side

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
_BOX, _PROCESS = {"low": -1.0, "high": 1.0}, {"theta": 0.15, "sigma": 0.2, "mu": 0.0, "dt": 0.1}
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
        (
            "dt-zero",
            _call("ou_step", _ROWS, _ROWS, **{**_PROCESS, "dt": 0.0}),
            ConfigError,
            "dt=0.0",
        ),
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
