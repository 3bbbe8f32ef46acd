"""Misuses that every learner with continuous actions refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, ImplError, NonFiniteError, ShapeError
from parity.component import ErrorCase, Side

ROWS = 4

Edit = Callable[[dict[str, np.ndarray], dict[str, np.ndarray]], None]


def example(
    config: Any, draws: Sequence[str]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """A batch that is in order, with draws of these names, shaped like its actions."""
    observation = np.linspace(-1.0, 1.0, ROWS * config.observation_size)
    action = np.linspace(-0.5, 0.5, ROWS * config.action_size).reshape(ROWS, -1)
    batch = {
        "observation": observation.reshape(ROWS, -1),
        "action": action,
        "reward": np.linspace(-1.0, 0.0, ROWS),
        "next_observation": observation[::-1].reshape(ROWS, -1).copy(),
        "terminated": np.array([True, False, False, False]),
        "truncated": np.array([False, True, False, False]),
    }
    return batch, dict.fromkeys(draws, action * 2.0)


def update_with(side: Side, config: Any, edit: Edit, *, names: Sequence[str]) -> Any:
    """One update on a batch that has been edited, with draws of these names."""
    batch, draws = example(config, names)
    for arrays in (batch, draws):
        floats = {name: a.astype(side.dtype) for name, a in arrays.items() if a.dtype.kind == "f"}
        arrays.update(floats)
    edit(batch, draws)
    learner = side.impl.make_learner(config, dtype=side.dtype)
    return learner.update(_tensors(side, batch), _tensors(side, draws))


def batch_errors(
    config: Any, *, noise: bool, draws: Sequence[str] = ("noise",)
) -> tuple[ErrorCase, ...]:
    """Batches that are refused: wrong fields, shapes, dtypes, rows, and values."""
    names = draws if noise else ()

    def case(id: str, error: type[ImplError], match: str, edit: Edit) -> ErrorCase:
        def call(side: Side) -> Any:
            return update_with(side, config, edit, names=names)

        return ErrorCase(id, call, error, match)

    return (
        case("missing-field", ShapeError, r"batch: missing \['truncated'\]", _drop("truncated")),
        case(
            "unknown-field",
            ShapeError,
            r"batch: .*unknown \['done'\]",
            _put(done=np.zeros(ROWS, bool)),
        ),
        case(
            "unknown-draw",
            ShapeError,
            r"draws: .*unknown \['extra'\]",
            _draw(extra=np.zeros((ROWS, 1))),
        ),
        case(
            "reward-column",
            ShapeError,
            r"batch\['reward'\] has shape \[4, 1\], expected \[B\]",
            _change("reward", lambda a: a[:, None]),
        ),
        case(
            "wrong-observation-size",
            ShapeError,
            rf"batch\['next_observation'\] has shape \[4, {config.observation_size - 1}\], "
            rf"expected \[B, {config.observation_size}\]",
            _change("next_observation", lambda a: a[:, 1:]),
        ),
        case(
            "rows-differ",
            ShapeError,
            "expected one number of rows B, got .*reward 3",
            _change("reward", lambda a: a[1:]),
        ),
        case("no-rows", ShapeError, "the batch has 0 rows", _without_rows),
        case(
            "flag-as-number",
            DtypeError,
            r"batch\['terminated'\] is float(32|64), expected bool",
            lambda batch, draws: batch.update(
                terminated=batch["terminated"].astype(batch["reward"].dtype)
            ),
        ),
        case(
            "other-precision",
            DtypeError,
            r"batch\['action'\] is float(32|64), expected float(32|64)",
            _change("action", lambda a: a.astype(np.float64 if a.itemsize == 4 else np.float32)),
        ),
        case(
            "nan-reward",
            NonFiniteError,
            r"batch\['reward'\]\[3\] is nan",
            _change("reward", lambda a: np.where(np.arange(ROWS) == 3, np.nan, a).astype(a.dtype)),
        ),
        case(
            "infinite-observation",
            NonFiniteError,
            r"batch\['next_observation'\]\[1, 0\] is -inf",
            _change("next_observation", _infinite),
        ),
    )


def draw_errors(config: Any, *, draws: Sequence[str] = ("noise",)) -> tuple[ErrorCase, ...]:
    """Draws that are refused, for learners that take ``noise``."""

    def case(id: str, error: type[ImplError], match: str, edit: Edit) -> ErrorCase:
        return ErrorCase(
            id, lambda side: update_with(side, config, edit, names=draws), error, match
        )

    return (
        case(
            "no-noise",
            ShapeError,
            r"draws: missing \['noise'\]",
            _without_noise,
        ),
        case(
            "one-noise-for-all-dimensions",
            ShapeError,
            r"draws\['noise'\] has shape \[4\], expected \[B, 2\]",
            lambda batch, draws: draws.update(noise=draws["noise"][:, 0]),
        ),
        case(
            "nan-noise",
            NonFiniteError,
            r"draws\['noise'\]\[0, 0\] is nan",
            lambda batch, draws: draws.update(noise=draws["noise"] * np.nan),
        ),
    )


def learner_errors(
    config: Any, bad_values: Mapping[str, tuple[dict[str, Any], str]]
) -> tuple[ErrorCase, ...]:
    """Learners and states that are refused.

    Args:
        bad_values: id -> changed fields of the configuration, and what the message must contain.
    """

    def with_state(edit: Callable[[dict[str, np.ndarray]], Any]) -> Callable[[Side], Any]:
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

    def with_fields(fields: dict[str, Any]) -> Callable[[Side], Any]:
        return lambda side: side.impl.make_learner(replace(config, **fields), dtype=side.dtype)

    name = "param/actor/l1/kernel"
    return (
        *(
            ErrorCase(id, with_fields(fields), ConfigError, match)
            for id, (fields, match) in bad_values.items()
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
            with_state(lambda state: state.pop("param/actor/l2/bias")),
            ConfigError,
            r"state: missing \['param/actor/l2/bias'\]",
        ),
        ErrorCase(
            "state-with-transposed-kernel",
            with_state(lambda state: state.update({name: state[name].T})),
            ShapeError,
            r"state\['param/actor/l1/kernel'\] has shape \[11, 3\], expected \[3, 11\]",
        ),
        ErrorCase(
            "learning-rate-of-unknown-network",
            with_rate("critics", 1e-3),
            ConfigError,
            "group='critics' is unknown; known: critic, actor",
        ),
        ErrorCase(
            "negative-learning-rate",
            with_rate("actor", -1e-3),
            ConfigError,
            "learning_rate=-0.001",
        ),
    )


def _tensors(side: Side, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    return {name: side.backend.tensor(array, device=side.device) for name, array in arrays.items()}


def _drop(name: str) -> Edit:
    def edit(batch: dict[str, np.ndarray], draws: dict[str, np.ndarray]) -> None:
        del batch[name]

    return edit


def _put(**arrays: np.ndarray) -> Edit:
    return lambda batch, draws: batch.update(arrays)


def _draw(**arrays: np.ndarray) -> Edit:
    return lambda batch, draws: draws.update(arrays)


def _change(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Edit:
    return lambda batch, draws: batch.update({name: change(batch[name])})


def _without_noise(batch: dict[str, np.ndarray], draws: dict[str, np.ndarray]) -> None:
    del draws["noise"]


def _without_rows(batch: dict[str, np.ndarray], draws: dict[str, np.ndarray]) -> None:
    for arrays in (batch, draws):
        arrays.update({name: array[:0] for name, array in arrays.items()})


def _infinite(array: np.ndarray) -> np.ndarray:
    changed: np.ndarray = array.copy()
    changed[1, 0] = -np.inf
    return changed
