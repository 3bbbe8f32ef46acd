"""What is done to prioritized buffers when they are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from impls.prioritized_replay.config import PrioritizedReplayConfig
from impls.replay_buffer.cases import rows
from parity.checks.replay import Operation, ReplayCheck

Operations = Callable[[np.random.Generator], Sequence[Operation]]

CONFIG = PrioritizedReplayConfig(11, observation_shape=(3,), action_shape=(2,))
ONE = PrioritizedReplayConfig(1, (3,), (2,))
FOUR = PrioritizedReplayConfig(4, observation_shape=(3,), action_shape=(2,))
LINEAR = PrioritizedReplayConfig(6, (3,), (), "int64", alpha=1.0, epsilon=0.5, with_steps=True)


def added(
    rng: np.random.Generator, count: int, config: PrioritizedReplayConfig = CONFIG
) -> Operation:
    """So many transitions at once."""
    return Operation("add_batch", rows(rng, count, config))


def drawn(uniforms: Any) -> Operation:
    """Slots for these numbers."""
    return Operation("call", {"uniforms": np.asarray(uniforms)}, "draw")


def weighed(indices: Any, beta: float) -> Operation:
    """Weights of these slots."""
    values = {"indices": np.asarray(indices), "beta": np.asarray(beta)}
    return Operation("call", values, "weights")


def updated(indices: Any, td_error: Any) -> Operation:
    """New errors for these slots."""
    values = {"indices": np.asarray(indices), "td_error": np.asarray(td_error, float)}
    return Operation("call", values, "update_priorities")


def _mixed(rng: np.random.Generator, config: PrioritizedReplayConfig = CONFIG) -> list[Operation]:
    """Partly filled, full and wrapped, with updates of any size in between."""
    found, size = [], 0
    for count, beta in ((1, 0.4), (4, 0.7), (5, 1.0), (3, 0.0), (14, 0.5)):
        size = min(size + count, config.capacity)
        slots = rng.integers(0, size, 7)
        found += [
            added(rng, count, config),
            drawn(rng.random(13)),
            updated(slots, rng.normal(scale=10.0 ** rng.integers(-3, 2), size=7)),
            drawn(rng.random(17)),
            weighed(rng.integers(0, size, 3), beta),
            Operation("sample", slots),
        ]
    return found


def _singles(rng: np.random.Generator) -> list[Operation]:
    found = []
    for i in range(8):
        size = min(i + 1, LINEAR.capacity)
        row = {n: a[0] for n, a in rows(rng, 1, LINEAR).items()}
        found += [Operation("add", row), updated([i % LINEAR.capacity], [rng.normal()])]
        found += [drawn(rng.random(5)), weighed(np.arange(size), 0.4)]
    return found


def _duplicates(rng: np.random.Generator) -> list[Operation]:
    """Many rows for few slots; the largest error is not the last one of its slot."""
    slots = np.array([4, 1, 4, 4, 0, 1, 7, 4, 1])
    errors = np.array([0.1, 5.0, 30.0, -2.0, 0.7, 0.2, -1.0, 0.4, 0.3])
    return [added(rng, 9), updated(slots, errors), drawn(rng.random(23)), added(rng, 1)]


def _edges(rng: np.random.Generator) -> list[Operation]:
    """Priorities 1, 2, 3, ... and draws on and beside every boundary between them, 0 and 1."""
    size = 5
    total = size * (size + 1) // 2
    below, one = np.nextafter(np.float32(1), np.float32(0)), np.float32(1)
    return [
        added(rng, size, LINEAR),
        updated(np.arange(size), np.arange(size) + 0.5),
        drawn(np.zeros(total)),
        drawn(np.full(total, below)),
        drawn(np.full(total, one)),
        drawn(np.arange(total) % 2 / 2),
    ]


def _extremes(rng: np.random.Generator) -> list[Operation]:
    """Errors from nothing at all to a million."""
    errors = np.array([0.0, 1e-8, 1e-3, 1.0, 1e3, 1e6, -1e6])
    return [
        added(rng, 7),
        updated(np.arange(7), errors),
        weighed(np.arange(7), 0.5),
        drawn(rng.random(29)),
    ]


def _reloaded(rng: np.random.Generator) -> list[Operation]:
    """The state moves half full and full; what is added then has the highest priority ever."""
    high = updated([2, 0, 2], [50.0, 3.0, 0.1])
    reload = Operation("reload")
    return [
        added(rng, 4),
        high,
        reload,
        added(rng, 9),
        drawn(rng.random(7)),
        reload,
        updated([5], [-0.25]),
        added(rng, 1),
        drawn(rng.random(19)),
    ]


def _held(rng: np.random.Generator) -> list[Operation]:
    """What the buffer hands out is kept while it is written to."""
    return [
        added(rng, 4),
        Operation("hold"),
        updated([1], [0.1]),
        added(rng, 2),
        drawn(rng.random(3)),
    ]


def _same_sizes(rng: np.random.Generator) -> list[Operation]:
    """Every step is compiled once; beta and the priorities change."""
    found = []
    for beta in (0.4, 0.8, 1.0):
        slots = rng.integers(0, 4, 5)
        found += [added(rng, 4), updated(slots, rng.normal(size=5)), drawn(rng.random(6))]
        found += [weighed(slots, beta)]
    return found


def _replay(case: str, operations: Operations, **fields: Any) -> ReplayCheck:
    fields = {"config": CONFIG, **fields}
    return ReplayCheck(name="PrioritizedReplay", case=case, operations=operations, **fields)


CHECKS = (
    _replay("mixed", _mixed),
    _replay("one-by-one", _singles, config=LINEAR),
    _replay("duplicates", _duplicates),
    _replay("edges", _edges, config=LINEAR),
    _replay("extremes", _extremes),
    _replay("state-moved", _reloaded),
    _replay("held", _held),
    _replay(
        "capacity-one",
        lambda rng: _mixed(rng, ONE),
        config=ONE,
    ),
    _replay("uniform", _mixed, config=PrioritizedReplayConfig(11, (3,), (2,), alpha=0.0)),
    # compiling takes seconds: one dtype here, and torch's compiler in the unit tests
    _replay("same-sizes", _same_sizes, config=FOUR, modes=("xla",), dtypes=("float64",)),
)
