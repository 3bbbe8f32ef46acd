"""Inputs that the losses of soft actor-critic are checked on: 13 rows of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parity.checks.function import FunctionCheck

Inputs = Callable[[np.random.Generator], dict[str, np.ndarray]]
NONE = {"reduction": "none"}
BOTH = ("eager", "xla")
TARGET = ("r_t", "discount_t", "q1_t", "q2_t", "log_prob_t")


def _rows(*names: str, batch: int = 13, scale: float = 1.0, shift: float = 0.0) -> Inputs:
    """Normal values; some rows terminated; ``alpha`` and its logarithm are scalars."""

    def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {}
        for name in names:
            if name == "discount_t":
                arrays[name] = 0.99 * (rng.random(batch) > 0.3)
            elif name == "alpha":
                arrays[name] = np.asarray(0.2)
            elif name == "log_alpha":
                arrays[name] = np.asarray(-1.25)
            else:
                arrays[name] = shift + rng.normal(scale=scale, size=batch)
        return arrays

    return inputs


def _equal_critics(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Both critics agree on every other row: the minimum has two arguments."""
    arrays = _rows("log_prob", "q1", "q2")(rng)
    arrays["q2"][::2] = arrays["q1"][::2]
    return arrays


def _check(
    name: str,
    case: str,
    inputs: Inputs,
    gradients: Sequence[str],
    constant: Sequence[str],
    **options: Any,
) -> FunctionCheck:
    one_critic = name == "soft_actor_loss" and case == "single-row"
    return FunctionCheck(
        name=name,
        case=case,
        inputs=inputs,
        options=options,
        gradients=tuple(gradients),
        no_gradient=tuple(constant),
        per_sample=None if name == "soft_target" else NONE,
        modes=BOTH if case == "batch" and name != "soft_critic_loss" else ("eager",),
        # of one row, only the smaller critic gets a gradient
        expect_zero=("*grad/q?",) if one_critic else (),
    )


def _cases(
    name: str, arguments: Sequence[str], constant: Sequence[str], **options: Any
) -> list[FunctionCheck]:
    """The cases that every function has."""
    gradients = [a for a in arguments if a not in (*constant, "discount_t")]
    settings: dict[str, dict[str, Any]] = {
        "batch": {},
        "single-row": {"batch": 1},
        "negative": {"shift": -5.0},
        "batch-64": {"batch": 64},
    }
    made = [
        _check(name, case, _rows(*arguments, **kind), gradients, constant, **options)
        for case, kind in settings.items()
    ]
    if name != "soft_target":
        reduced = {**options, "reduction": "sum"}
        made.append(_check(name, "sum", _rows(*arguments), gradients, constant, **reduced))
    return made


_FIXED = [a for a in TARGET if a != "discount_t"]
_ACTOR = ("log_prob", "q1", "q2")
CHECKS = (
    *_cases("soft_target", TARGET, _FIXED, alpha=0.2),
    _check("soft_target", "alpha-as-tensor", _rows(*TARGET, "alpha"), (), (*_FIXED, "alpha")),
    _check("soft_target", "no-entropy", _rows(*TARGET), (), _FIXED, alpha=0.0),
    *_cases("soft_critic_loss", ("q1_tm1", "q2_tm1", "target"), ("target",)),
    *_cases("soft_actor_loss", _ACTOR, (), alpha=0.2),
    _check("soft_actor_loss", "alpha-as-tensor", _rows(*_ACTOR, "alpha"), _ACTOR, ("alpha",)),
    _check("soft_actor_loss", "equal-critics", _equal_critics, _ACTOR, (), alpha=0.2),
    *_cases("temperature_loss", ("log_alpha", "log_prob"), ("log_prob",), target_entropy=-2.0),
    _check(
        "temperature_loss",
        "other-target",
        _rows("log_alpha", "log_prob"),
        ("log_alpha",),
        ("log_prob",),
        target_entropy=0.5,
    ),
)
