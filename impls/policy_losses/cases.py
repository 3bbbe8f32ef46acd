"""Inputs that the policy losses are checked on: one value per step, ``[13]`` or ``[7, 13]``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parity.checks.function import FunctionCheck

Inputs = Callable[[np.random.Generator], dict[str, np.ndarray]]
NONE = {"reduction": "none"}
BOTH = ("eager", "xla")
CONSTANT = ("advantage", "old_log_prob", "old_v_tm1", "target")


def _rows(*names: str, shape: tuple[int, ...] = (13,), scale: float = 1.0) -> Inputs:
    """Normal values; log-probabilities below 0, so that ratios fall on both sides of a clip."""

    def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {
            name: -rng.uniform(0.1, 1.2, shape)
            if name.endswith("log_prob")
            else rng.normal(scale=scale, size=shape)
            for name in names
        }

    return inputs


def _around_ratio(clip: float) -> Inputs:
    """Ratios just inside, just outside and far outside either limit, with gains and losses."""

    def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
        ratios = np.array([1 - clip, 1.0, 1 + clip])[:, None] + np.array([-0.5, -1e-3, 1e-3, 0.5])
        log_prob = np.log(ratios.clip(min=0.05)).ravel()
        advantage = np.repeat([1.5, -0.5], log_prob.size)
        log_prob = np.tile(log_prob, 2)
        return {
            "log_prob": log_prob - 1.0,
            "old_log_prob": np.full(log_prob.shape, -1.0),
            "advantage": advantage,
        }

    return inputs


def _same_policy(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The first pass over the data: every ratio is 1."""
    inputs = _rows("log_prob", "advantage")(rng)
    return {**inputs, "old_log_prob": inputs["log_prob"]}


def _around_value(clip: float) -> Inputs:
    """Changes at the limit and around it, towards the target, away from it, and across it.

    The last rows are as far from the target clipped as unclipped. An old value of 0 and sums of
    powers of two keep every difference exact.
    """

    def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
        near = clip + np.array([-0.125, -(2.0**-20), 0.0, 2.0**-20, 0.125, 1.0])
        changes = np.concatenate([near, -near])
        v_tm1, target = (
            a.ravel() for a in np.meshgrid(changes, [-2.0, 0.0, 0.5, 3.0], indexing="ij")
        )
        ties = np.array([1.0, -1.0])
        v_tm1 = np.concatenate([v_tm1, ties])
        target = np.concatenate([target, ties * (1.0 + clip) / 2.0])
        return {"v_tm1": v_tm1, "old_v_tm1": np.zeros(v_tm1.size), "target": target}

    return inputs


def _check(
    name: str, case: str, inputs: Inputs, arguments: Sequence[str], **options: Any
) -> FunctionCheck:
    return FunctionCheck(
        name=name,
        case=case,
        inputs=inputs,
        options=options,
        gradients=tuple(a for a in arguments if a not in CONSTANT),
        no_gradient=tuple(a for a in arguments if a in CONSTANT),
        per_sample=NONE,
        modes=BOTH if case == "batch" and name.startswith("clipped") else ("eager",),
    )


def _cases(name: str, *arguments: str) -> list[FunctionCheck]:
    """The cases that every loss has."""
    return [
        _check(name, "batch", _rows(*arguments), arguments),
        _check(name, "sequence", _rows(*arguments, shape=(7, 13)), arguments),
        _check(name, "square", _rows(*arguments, shape=(5, 5)), arguments),
        _check(name, "single-row", _rows(*arguments, shape=(1,)), arguments),
        _check(name, "order-100", _rows(*arguments, scale=100.0), arguments),
        _check(name, "sum", _rows(*arguments), arguments, reduction="sum"),
    ]


_RATIO = ("log_prob", "old_log_prob", "advantage")
_VALUE = ("v_tm1", "old_v_tm1", "target")
CHECKS = (
    *_cases("policy_gradient_loss", "log_prob", "advantage"),
    *_cases("entropy_loss", "entropy"),
    _check("entropy_loss", "coefficient", _rows("entropy"), ("entropy",), coefficient=0.5),
    *_cases("value_loss", "v_tm1", "target"),
    *_cases("clipped_value_loss", *_VALUE),
    _check("clipped_value_loss", "around-clip", _around_value(0.25), _VALUE, clip=0.25),
    _check("clipped_value_loss", "wide-clip", _rows(*_VALUE), _VALUE, clip=1.0),
    *_cases("clipped_surrogate_loss", *_RATIO),
    _check("clipped_surrogate_loss", "around-clip", _around_ratio(0.2), _RATIO),
    _check("clipped_surrogate_loss", "narrow-clip", _around_ratio(0.05), _RATIO, clip=0.05),
    _check("clipped_surrogate_loss", "same-policy", _same_policy, _RATIO),
)
