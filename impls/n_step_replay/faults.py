"""Bugs planted in n-step replay, and misuses that it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, EmptyBufferError, NonFiniteError, ShapeError
from impls.n_step_replay.cases import CONFIG, Rows, steps
from impls.n_step_replay.config import NStepReplayConfig
from parity.component import ErrorCase, Mutant, Side

FUNCTION, REPLAY = "function.n_step_transitions", "replay.NStepReplay"

MUTANTS = (
    Mutant(
        id="window-runs-across-an-end",
        find="        alive &= ~(terminated[k] | truncated[k])\n",
        replace="",
        caught_by=FUNCTION,
        because="only the first step's end cuts the window",
        case="many-ends",
    ),
    Mutant(
        id="truncation-does-not-cut",
        find="alive = alive & ~(terminated[k] | truncated[k])",
        replace="alive = alive & ~terminated[k]",
        caught_by=FUNCTION,
        because="rewards of the next episode are added after a time limit",
        sibling="torch",
        case="many-ends",
    ),
    Mutant(
        id="first-step-never-ends",
        find="alive = ~(terminated[0] | truncated[0])",
        replace="alive = tf.ones_like(terminated[0])",
        caught_by=FUNCTION,
        because="the end of the window's own step is not looked at",
        case="many-ends",
    ),
    Mutant(
        id="reward-of-the-end-lost",
        find='        made["reward"] = tf.where(alive, made',
        replace="        alive &= ~(terminated[k] | truncated[k])\n"
        '        made["reward"] = tf.where(alive, made',
        caught_by=FUNCTION,
        because="the window is cut before the step in which the episode ends, not behind it",
        case="many-ends",
    ),
    Mutant(
        id="discount-one-step-late",
        find="gamma**k * reward[k]",
        replace="gamma ** (k - 1) * reward[k]",
        caught_by=FUNCTION,
        because="the second reward is not discounted",
        sibling="torch",
        case="no-end",
    ),
    Mutant(
        id="not-discounted",
        find="gamma**k * reward[k]",
        replace="reward[k]",
        caught_by=FUNCTION,
        because="a plain sum of rewards",
        case="no-end",
    ),
    Mutant(
        id="next-observation-of-the-first-step",
        find='tf.where(column, next_observation[k], made["next_observation"])',
        replace='tf.where(column, made["next_observation"], made["next_observation"])',
        caught_by=FUNCTION,
        because="bootstraps from the observation after one step, with the discount of n",
        case="images",
    ),
    Mutant(
        id="next-observation-of-the-last-step",
        find='            column, next_observation[k], made["next_observation"]\n',
        replace="            torch.ones_like(column), next_observation[k], next_observation[k]\n",
        caught_by=FUNCTION,
        because="of a window that was cut, the observation of another episode",
        sibling="torch",
        case="many-ends",
    ),
    Mutant(
        id="steps-is-n",
        find='made["steps"] += tf.cast(alive, tf.int64)',
        replace='made["steps"] += 1',
        caught_by=FUNCTION,
        because="gamma^n also for windows that were cut at a time limit",
        case="many-ends",
    ),
    Mutant(
        id="flags-of-the-first-step",
        find="made |= {name: torch.where(alive, flag, made[name]) for name, flag in later.items()}",
        replace="made |= {name: made[name] for name in later}",
        caught_by=FUNCTION,
        because="an end within the window is not told to the target",
        sibling="torch",
        case="many-ends",
    ),
    Mutant(
        id="across-environments",
        find="tf.concat([values[1:], step[name][tf.newaxis]], axis=0)",
        replace="tf.concat([tf.roll(values[1:], 1, axis=1), step[name][tf.newaxis]], axis=0)",
        caught_by=REPLAY,
        because="the pending steps of one environment are summed with those of the next",
        case="several-at-once",
    ),
    Mutant(
        id="incomplete-windows-stored",
        find="complete = self._seen >= self.config.steps",
        replace="complete = self._seen >= 1",
        caught_by=REPLAY,
        because="the zeros before the first step are taken for steps",
        sibling="torch",
        case="one-by-one",
    ),
    Mutant(
        id="one-step-too-late",
        find="self._emit(rows, self._seen >= self.config.steps)",
        replace="self._emit(rows, self._seen > self.config.steps)",
        caught_by=REPLAY,
        because="the first complete window is lost",
        case="state-moved",
    ),
    Mutant(
        id="observation-of-the-last-step",
        find='rows |= {name: window[name][0] for name in ("observation", "action")}',
        replace='rows |= {name: window[name][-1] for name in ("observation", "action")}',
        caught_by=REPLAY,
        because="the newest observation with the rewards since the oldest",
        case="several-at-once",
    ),
    Mutant(
        id="window-lost-on-reload",
        find="            values.copy_(pending[name])\n",
        replace="            values.zero_()\n",
        caught_by=REPLAY,
        because="a resumed run begins its windows anew, but counts on",
        sibling="torch",
        case="state-moved",
    ),
    Mutant(
        id="window-shares-memory",
        find='pending = {f"{WINDOW}{name}": values.clone() for',
        replace='pending = {f"{WINDOW}{name}": values for',
        caught_by=REPLAY,
        because="a checkpoint in memory that later steps write into",
        sibling="torch",
        case="held",
    ),
)


def _steps(count: int = 4, **changes: Any) -> Rows:
    return {**steps(np.random.default_rng(0), count), **changes}


def _tensors(side: Side, values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: side.backend.tensor(value, dtype=side.dtype, device=side.device)
        for name, value in values.items()
    }


def _buffer(side: Side, filled: int = 0, config: NStepReplayConfig = CONFIG) -> Any:
    buffer = side.impl.NStepReplay(config, dtype=side.dtype, device=side.device)
    if filled:
        buffer.add_batch(_tensors(side, _steps(filled)))
    return buffer


def _add(values: Mapping[str, Any], name: str = "add_batch") -> Callable[[Side], Any]:
    return lambda side: getattr(_buffer(side), name)(_tensors(side, values))


def _sample(filled: int, *indices: int) -> Callable[[Side], Any]:
    return lambda side: _buffer(side, filled).sample(
        side.backend.tensor(np.array(indices), device=side.device)
    )


def _load(**changes: Any) -> Callable[[Side], Any]:
    def call(side: Side) -> Any:
        arrays = {n: v for n, v in changes.items() if v is not None}
        state = {**_buffer(side, 4).state(), **_tensors(side, arrays)}
        return _buffer(side).load_state(
            {n: v for n, v in state.items() if n not in changes or changes[n] is not None}
        )

    return call


def _config(**fields: Any) -> Callable[[Side], Any]:
    sizes = {"capacity": 5, "observation_shape": (3,), "action_shape": (2,), **fields}
    return lambda side: _buffer(side, config=NStepReplayConfig(**sizes))


def _window(gamma: float = 0.9, **changes: np.ndarray) -> Callable[[Side], Any]:
    fields = ("reward", "next_observation", "terminated", "truncated")
    values = {**{n: a for n, a in _steps().items() if n in fields}, **changes}
    return lambda side: side.impl.n_step_transitions(**_tensors(side, values), gamma=gamma)


def _nan() -> Rows:
    found = _steps()
    found["reward"][2, 1] = np.nan
    return found


_ROW = {name: array[0] for name, array in _steps().items()}
ERRORS = tuple(
    ErrorCase(case, call, error, match)
    for case, call, error, match in (
        ("no-steps", _config(steps=0), ConfigError, "steps=0"),
        ("steps-float", _config(steps=2.0), ConfigError, r"steps=2\.0"),
        ("no-environments", _config(environments=0), ConfigError, "environments=0"),
        ("too-many-environments", _config(environments=6), ConfigError, "environments=6.*=5"),
        ("gamma-above-one", _config(gamma=1.5), ConfigError, r"gamma=1\.5"),
        ("capacity-zero", _config(capacity=0), ConfigError, "capacity=0"),
        ("nan-reward", _add(_nan()), NonFiniteError, r"reward holds nan at index \[2, 1\]"),
        (
            "one-environment-less",
            _add({n: a[:1] for n, a in _ROW.items()}, "add"),
            ShapeError,
            r"observation has shape \[1, 3\], must be \[2, 3\]",
        ),
        ("steps-for-a-step", _add(_steps(), "add"), ShapeError, r"must be \[2, 3\]"),
        ("flag-as-float", _add(_steps(truncated=np.ones((4, 2)))), DtypeError, "truncated.*bool"),
        ("window-not-full", _sample(2, 0), EmptyBufferError, "empty"),
        ("index-beyond", _sample(4, 0, 4), IndexError, r"indices\[1\] = 4 .*\[0, 4\)"),
        ("state-without-seen", _load(seen=None), ConfigError, "seen"),
        ("state-of-other-n", _load(**{"window/reward": np.ones((2, 2))}), ShapeError, "window/rew"),
        ("state-of-too-few-steps", _load(seen=np.array(3)), ConfigError, "seen=3.*size=4"),
        ("window-of-one-environment", _window(reward=np.ones(4)), ShapeError, "reward"),
        (
            "window-flags-turned",
            _window(terminated=np.ones((2, 4), bool)),
            ShapeError,
            r"terminated has shape \(2, 4\)",
        ),
        (
            "window-observation",
            _window(next_observation=np.ones((3, 2, 3))),
            ShapeError,
            r"next_observation has shape \(3, 2, 3\)",
        ),
        ("window-gamma", _window(gamma=-0.1), ConfigError, "gamma=-0.1"),
    )
)
