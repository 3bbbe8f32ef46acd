"""Inputs that the policies are checked on: 5 actions, or 2 dimensions, for 13 rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parity.checks.function import FunctionCheck
from parity.component import Check

Inputs = Callable[[np.random.Generator], dict[str, np.ndarray]]
ROWS, ACTIONS, DIMENSIONS = 13, 5, 2
BOTH = ("eager", "xla")
BOUNDS = {"low": (-1.0, -2.0), "high": (0.5, 2.0)}


def _logits(*shape: int, scale: float = 2.0, masked: bool = False, shift: float = 0.0) -> Inputs:
    """Logits alone; ``masked`` ones lose a random half of the actions, never the middle one."""

    def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
        logits = shift + rng.normal(scale=scale, size=shape)
        if masked:
            out = rng.random(shape) < 0.5
            out[..., shape[-1] // 2] = False
            logits[out] = -1e9
        return {"logits": logits}

    return inputs


def _chosen(inputs: Inputs) -> Inputs:
    """Logits and any action that is not masked, improbable ones included."""

    def with_action(rng: np.random.Generator) -> dict[str, np.ndarray]:
        logits = inputs(rng)["logits"]
        draws = rng.random(logits.shape)
        draws[logits < -1e8] = -1.0
        return {"logits": logits, "action": draws.argmax(axis=-1)}

    return with_action


def _drawn(inputs: Inputs) -> Inputs:
    def with_draw(rng: np.random.Generator) -> dict[str, np.ndarray]:
        logits = inputs(rng)["logits"]
        return {"logits": logits, "uniform": rng.random(logits.shape[:-1])}

    return with_draw


def _edges(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draws within 3e-8 of an edge of the CDF, a draw of 0 and the largest below 1.

    The first and the last action have no probability: neither extreme draw may reach them.
    """
    logits = rng.normal(size=(101, ACTIONS)).astype(np.float32).astype(np.float64)
    logits[:, [0, -1]] = -1e9
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    sums = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    uniform = sums[np.arange(101), rng.integers(1, 3, 101)]
    uniform[:2] = 0.0, np.nextafter(np.float32(1.0), np.float32(0.0))
    return {"logits": logits, "uniform": uniform}


def _ties(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"logits": rng.integers(0, 3, (ROWS, ACTIONS)).astype(np.float64)}


def _gaussian(
    third: str,
    *shape: int,
    shared: bool = False,
    log_std: tuple[float, float] = (-1.5, 0.5),
    scale: float = 1.0,
    distance: float = 1.5,
) -> Inputs:
    """A mean, a log_std (one per row, or shared by all) and ``noise``, or what it leads to.

    ``distance`` is how many deviations away an action may be: the density is quadratic in it, and
    float32 keeps 1e-6 of it where it does not cancel against the other terms.
    """

    def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
        mean = rng.normal(scale=scale, size=shape)
        spread = rng.uniform(*log_std, size=shape[-1:] if shared else shape)
        noise = rng.uniform(-distance, distance, shape)
        value = noise if third == "noise" else mean + np.exp(spread) * noise
        return {"mean": mean, "log_std": spread, third: value}

    return inputs


def _only(name: str, inputs: Inputs) -> Inputs:
    return lambda rng: {name: inputs(rng)[name]}


def _with_bounds(inputs: Inputs) -> Inputs:
    return lambda rng: {**inputs(rng), **{k: np.array(v) for k, v in BOUNDS.items()}}


def _check(name: str, case: str, inputs: Inputs, *gradients: str, **fields: Any) -> Check:
    return FunctionCheck(name=name, case=case, inputs=inputs, gradients=gradients, **fields)


_LOGITS = {
    "batch": _logits(ROWS, ACTIONS),
    "sequence": _logits(7, 3, ACTIONS),
    "single-row": _logits(1, 2),
    "square": _logits(5, 5),
    "far-apart": _logits(ROWS, ACTIONS, scale=60.0),
    "masked": _logits(ROWS, ACTIONS, masked=True),
    "large-shift": _logits(ROWS, ACTIONS, shift=1000.0),
}
_SHAPES: dict[str, dict[str, Any]] = {
    "batch": {"shape": (ROWS, DIMENSIONS)},
    "shared-deviation": {"shape": (ROWS, DIMENSIONS), "shared": True},
    "sequence": {"shape": (7, 5, 3)},
    "shared-in-sequence": {"shape": (3, 2, 5), "shared": True},
    "single-dimension": {"shape": (ROWS, 1)},
    "square": {"shape": (5, 5)},
    "narrow": {"shape": (ROWS, DIMENSIONS), "log_std": (-4.0, -3.0)},
}


def _shapes(name: str, third: str, gradients: tuple[str, ...], **fields: Any) -> list[Check]:
    """The cases that every function of a Gaussian has."""
    made = []
    for case, settings in _SHAPES.items():
        options = {k: v for k, v in settings.items() if k != "shape"}
        inputs = _gaussian(third, *settings["shape"], **options)
        made.append(_check(name, case, inputs, *gradients, **fields))
    return made


_NOISE = ("mean", "log_std")
_TAILS = _gaussian("noise", ROWS, DIMENSIONS, scale=12.0)
_TAIL_ACTIONS = _gaussian("pre_action", ROWS, DIMENSIONS, scale=12.0)
_LEAST = _gaussian("noise", ROWS, DIMENSIONS, log_std=(-20.0, -18.0))
CHECKS = (
    *(_check("categorical_sample", case, _drawn(inputs)) for case, inputs in _LOGITS.items()),
    _check("categorical_sample", "edges", _edges, modes=BOTH),
    *(
        _check(
            "categorical_log_prob",
            case,
            _chosen(inputs),
            "logits",
            modes=BOTH if case == "batch" else ("eager",),
        )
        for case, inputs in _LOGITS.items()
    ),
    *(
        _check("categorical_entropy", case, inputs, "logits")
        for case, inputs in _LOGITS.items()
        if case != "far-apart"
    ),
    *(
        _check("categorical_mode", case, _LOGITS[case])
        for case in ("batch", "sequence", "square", "masked")
    ),
    _check("categorical_mode", "ties", _ties),
    *_shapes("gaussian_sample", "noise", _NOISE),
    *_shapes("gaussian_log_prob", "action", (*_NOISE, "action")),
    _check(
        "gaussian_log_prob",
        "far-out",
        _gaussian("action", ROWS, DIMENSIONS, distance=20.0),
        *_NOISE,
        "action",
    ),
    *(
        _check(
            "gaussian_entropy",
            case,
            _only("log_std", _gaussian("noise", *shape, shared=shared)),
            "log_std",
        )
        for case, shape, shared in (
            ("batch", (ROWS, DIMENSIONS), False),
            ("shared-deviation", (ROWS, DIMENSIONS), True),
            ("square", (5, 5), False),
        )
    ),
    _check("gaussian_mode", "batch", _only("mean", _gaussian("noise", ROWS, 2)), "mean"),
    *_shapes("tanh_gaussian_sample", "noise", _NOISE),
    _check("tanh_gaussian_sample", "bounds", _gaussian("noise", ROWS, 2), *_NOISE, options=BOUNDS),
    _check("tanh_gaussian_sample", "bounds-as-tensors", _with_bounds(_TAILS), *_NOISE, modes=BOTH),
    _check("tanh_gaussian_sample", "tails", _TAILS, *_NOISE),
    _check("tanh_gaussian_sample", "least-deviation", _LEAST, *_NOISE),
    *_shapes("tanh_gaussian_log_prob", "pre_action", (*_NOISE, "pre_action")),
    _check("tanh_gaussian_log_prob", "tails", _TAIL_ACTIONS, *_NOISE, "pre_action", options=BOUNDS),
    *(
        _check(
            "tanh_gaussian_mode",
            case,
            _only("mean", _gaussian("noise", ROWS, DIMENSIONS, scale=scale)),
            "mean",
            options=options,
        )
        for case, scale, options in (
            ("batch", 1.0, {}),
            ("bounds", 1.0, BOUNDS),
            ("tails", 12.0, {"low": -2.0, "high": 2.0}),
        )
    ),
)
