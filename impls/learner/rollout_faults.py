"""Misuses that every learner from rollouts refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ImplError, NonFiniteError, ShapeError
from parity.component import ErrorCase, Side

STEPS, ENVIRONMENTS = 4, 3

Arrays = dict[str, np.ndarray]
Edit = Callable[[Arrays, Arrays], None]
More = Callable[[], tuple[Arrays, Arrays]]
"""Further fields of the batch, and the draws."""


def example(config: Any, more: More | None = None) -> tuple[Arrays, Arrays]:
    """A discrete rollout that is in order, with its draws."""
    shape = (STEPS, ENVIRONMENTS)
    observation = np.linspace(-1.0, 1.0, STEPS * ENVIRONMENTS * config.observation_size)
    observation = observation.reshape(*shape, config.observation_size)
    batch = {
        "observation": observation,
        "action": np.arange(STEPS * ENVIRONMENTS).reshape(shape) % config.action_size,
        "reward": np.linspace(-1.0, 0.0, STEPS * ENVIRONMENTS).reshape(shape),
        "next_observation": observation[::-1].copy(),
        "terminated": np.arange(STEPS * ENVIRONMENTS).reshape(shape) == 4,
        "truncated": np.arange(STEPS * ENVIRONMENTS).reshape(shape) == 5,
    }
    fields, draws = more() if more else ({}, {})
    return {**batch, **fields}, draws


def update_with(side: Side, config: Any, edit: Edit, more: More | None = None) -> Any:
    """One update on a rollout that has been edited."""
    batch, draws = example(config, more)
    for arrays in (batch, draws):
        floats = {name: a.astype(side.dtype) for name, a in arrays.items() if a.dtype.kind == "f"}
        arrays.update(floats)
    edit(batch, draws)
    learner = side.impl.make_learner(config, dtype=side.dtype)
    return learner.update(_tensors(side, batch), _tensors(side, draws))


def update_case(
    id: str,
    error: type[ImplError],
    match: str,
    edit: Edit,
    *,
    config: Any,
    more: More | None = None,
) -> ErrorCase:
    """An edited rollout that is refused."""
    return ErrorCase(id, lambda side: update_with(side, config, edit, more), error, match)


def rollout_errors(config: Any, more: More | None = None) -> tuple[ErrorCase, ...]:
    """Rollouts that are refused: wrong fields, shapes, dtypes, steps, and values."""

    def case(id: str, error: type[ImplError], match: str, edit: Edit) -> ErrorCase:
        return update_case(id, error, match, edit, config=config, more=more)

    size = config.observation_size
    return (
        case(
            "missing-field",
            ShapeError,
            r"batch: missing \['truncated'\]",
            lambda batch, draws: batch.update({"x": batch.pop("truncated")}),
        ),
        case(
            "unknown-field",
            ShapeError,
            r"batch: .*unknown \['done'\]",
            lambda batch, draws: batch.update(done=batch["terminated"]),
        ),
        case(
            "unknown-draw",
            ShapeError,
            r"draws: .*unknown \['extra'\]",
            lambda batch, draws: draws.update(extra=batch["reward"]),
        ),
        case(
            "flattened-already",
            ShapeError,
            r"batch\['reward'\] has shape \[12\], expected \[T, B\]",
            change("reward", lambda a: a.reshape(-1)),
        ),
        case(
            "wrong-observation-size",
            ShapeError,
            rf"batch\['next_observation'\] has shape \[4, 3, {size - 1}\], "
            rf"expected \[T, B, {size}\]",
            change("next_observation", lambda a: a[..., 1:]),
        ),
        case(
            "batch-major",
            ShapeError,
            r"one number of steps T and of environments B, got .*reward \[3, 4\]",
            change("reward", lambda a: a.T.copy()),
        ),
        case(
            "no-steps",
            ShapeError,
            r"the rollout has \[T, B\] of \[0, 3\]: no step",
            lambda batch, draws: batch.update({name: a[:0] for name, a in batch.items()}),
        ),
        case(
            "flag-as-number",
            DtypeError,
            r"batch\['terminated'\] is float(32|64), expected bool",
            lambda batch, draws: batch.update(
                terminated=batch["terminated"].astype(batch["reward"].dtype)
            ),
        ),
        case(
            "action-as-number",
            DtypeError,
            r"batch\['action'\] is float(32|64), expected int64",
            lambda batch, draws: batch.update(action=batch["action"].astype(batch["reward"].dtype)),
        ),
        case(
            "nan-reward",
            NonFiniteError,
            r"batch\['reward'\]\[3, 2\] is nan",
            change("reward", lambda a: np.where(a == a[3, 2], np.nan, a).astype(a.dtype)),
        ),
        case(
            "infinite-observation",
            NonFiniteError,
            r"batch\['next_observation'\]\[1, 0, 0\] is -inf",
            change("next_observation", _infinite),
        ),
    )


def learner_errors(
    config: Any, bad_values: Mapping[str, tuple[dict[str, Any], str]]
) -> tuple[ErrorCase, ...]:
    """Learners and states that are refused.

    Args:
        bad_values: id -> changed fields of the configuration, and what the message must contain;
            they come on top of those that all learners from rollouts have.
    """
    common: dict[str, tuple[dict[str, Any], str]] = {
        "gamma-above-one": ({"gamma": 1.01}, r"gamma=1.01: must be in \[0, 1\]"),
        "unknown-optimizer": ({"optimizer": "sgd"}, "optimizer='sgd' is unknown; known: adam"),
        "bonus-for-certainty": ({"entropy_coefficient": -0.1}, "entropy_coefficient=-0.1"),
        "clip-at-zero": ({"max_gradient_norm": 0.0}, "max_gradient_norm=0.0"),
        "no-hidden-units": ({"hidden_sizes": (11, 0)}, r"hidden_sizes\[1\]=0"),
        "no-bound": ({"max_action": 0.0}, "max_action=0.0"),
    }

    def with_fields(fields: dict[str, Any]) -> Callable[[Side], Any]:
        return lambda side: side.impl.make_learner(replace(config, **fields), dtype=side.dtype)

    def with_state(edit: Callable[[Arrays], Any]) -> Callable[[Side], Any]:
        def call(side: Side) -> Any:
            learner = side.impl.make_learner(config, dtype=side.dtype)
            state = learner.state()
            edit(state)
            return learner.load_state(state)

        return call

    def with_rate(group: str, value: float) -> Callable[[Side], Any]:
        return lambda side: side.impl.make_learner(config, dtype=side.dtype).set_learning_rate(
            group, value
        )

    name = "param/actor_critic/policy_logits/kernel"
    return (
        *(
            ErrorCase(id, with_fields(fields), ConfigError, match)
            for id, (fields, match) in {**common, **bad_values}.items()
        ),
        ErrorCase(
            "unknown-variant",
            lambda side: side.impl.make_learner(config, dtype=side.dtype, variant="fast"),
            ConfigError,
            "variant='fast' is unknown to (torch|tf|reference)",
        ),
        ErrorCase(
            "half-precision",
            lambda side: side.impl.make_learner(config, dtype="float16"),
            DtypeError,
            "dtype='float16'",
        ),
        ErrorCase(
            "state-lacks-a-name",
            with_state(lambda state: state.pop(name)),
            ConfigError,
            r"state: missing \['param/actor_critic/policy_logits/kernel'\]",
        ),
        ErrorCase(
            "state-with-transposed-kernel",
            with_state(lambda state: state.update({name: state[name].T})),
            ShapeError,
            r"state\['param/actor_critic/policy_logits/kernel'\] has shape \[\d+, \d+\], expected",
        ),
        ErrorCase(
            "learning-rate-of-unknown-network",
            with_rate("critic", 1e-3),
            ConfigError,
            "group='critic' is unknown; known: actor_critic",
        ),
        ErrorCase(
            "negative-learning-rate",
            with_rate("actor_critic", -1e-3),
            ConfigError,
            "learning_rate=-0.001",
        ),
    )


def change(name: str, edit: Callable[[np.ndarray], np.ndarray]) -> Edit:
    """Another value of one field of the batch."""
    return lambda batch, draws: batch.update({name: edit(batch[name])})


def _tensors(side: Side, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    return {name: side.backend.tensor(array, device=side.device) for name, array in arrays.items()}


def _infinite(array: np.ndarray) -> np.ndarray:
    changed: np.ndarray = array.copy()
    changed[1, 0, 0] = -np.inf
    return changed
