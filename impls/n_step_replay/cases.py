"""What is done to n-step replay buffers when they are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from impls.n_step_replay.config import NStepReplayConfig
from parity.checks.function import FunctionCheck
from parity.checks.replay import Operation, ReplayCheck

Rows = dict[str, np.ndarray]
Operations = Callable[[np.random.Generator], Sequence[Operation]]

CONFIG = NStepReplayConfig(11, (3,), (2,), steps=3, environments=2, gamma=0.9)
DISCRETE = NStepReplayConfig(13, (4, 3), (), "int64", steps=4, environments=3, gamma=0.5)
ONE = replace(CONFIG, capacity=5, environments=1)
TWO = replace(CONFIG, capacity=4, steps=2)
EMPTY = ("0/*/state/*", "1/*/state/*")
"""Before the first window is full nothing is stored."""


def steps(
    rng: np.random.Generator, count: int, config: NStepReplayConfig = CONFIG, ends: float = 0.25
) -> Rows:
    """Steps that are all different, [T, B, ...], with every combination of the two flags."""
    arrays: Rows = {}
    for name, (shape, dtype) in config.step_layout("float64").items():
        size = (count, *shape)
        if dtype == "bool":
            arrays[name] = rng.random(size) < ends
        elif dtype == "int64":
            arrays[name] = rng.integers(0, 2, size)
        else:
            arrays[name] = rng.normal(size=size)
    return arrays


def _singles(count: int, config: NStepReplayConfig = CONFIG, ends: float = 0.25) -> Operations:
    """One step at a time, with all filled slots sampled in between."""

    def operations(rng: np.random.Generator) -> list[Operation]:
        found = []
        for t in range(count):
            row = {n: a[0] for n, a in steps(rng, 1, config, ends).items()}
            found.append(Operation("add", row))
            size = min(max(t + 2 - config.steps, 0) * config.environments, config.capacity)
            if size and (config.capacity > 4 or size == 4):  # one shape where it is compiled
                found.append(Operation("sample", rng.permutation(size)))
        return found

    return operations


def _batches(*sizes: int, config: NStepReplayConfig = CONFIG) -> Operations:
    """Several steps at once, with a sample drawn after each."""

    def operations(rng: np.random.Generator) -> list[Operation]:
        found = []
        for size in sizes:
            found.append(Operation("add_batch", steps(rng, size, config)))
            found.append(Operation("draw", rng.random(13)))
        return found

    return operations


def _reloaded(rng: np.random.Generator) -> list[Operation]:
    """The state moves into a new buffer: before a window is full, half full, wrapped."""
    reload, taken = Operation("reload"), []
    for size in (1, 3, 5):
        taken += [Operation("add_batch", steps(rng, size)), reload]
    return [*taken, *_batches(2)(rng), *taken[:1]]


def _held(rng: np.random.Generator) -> list[Operation]:
    """What the buffer hands out is kept while it is written to."""
    first, second = _batches(4)(rng), _batches(3)(rng)
    return [*first, Operation("hold"), *second]


def _window(n: int, environments: int, ends: float, shape: tuple[int, ...] = (5,)) -> Any:
    def inputs(rng: np.random.Generator) -> Rows:
        size = (n, environments)
        return {
            "reward": rng.normal(size=size) - 0.5,
            "next_observation": rng.normal(size=(*size, *shape)),
            "terminated": rng.random(size) < ends,
            "truncated": rng.random(size) < ends,
        }

    return inputs


def _replay(case: str, operations: Operations, **fields: Any) -> ReplayCheck:
    fields = {"config": CONFIG, **fields}
    return ReplayCheck(name="NStepReplay", case=case, operations=operations, **fields)


def _function(case: str, inputs: Any, **fields: Any) -> FunctionCheck:
    fields = {"options": {"gamma": 0.9}, **fields}
    return FunctionCheck(name="n_step_transitions", case=case, inputs=inputs, **fields)


CHECKS = (
    _replay("one-by-one", _singles(11), expect_zero=EMPTY),
    _replay("several-at-once", _batches(3, 1, 4, 7, 2)),
    _replay("one-environment", _singles(9, ONE), config=ONE, expect_zero=EMPTY),
    _replay("one-step", _singles(4, replace(CONFIG, steps=1)), config=replace(CONFIG, steps=1)),
    _replay("discrete-actions", _batches(5, 6, config=DISCRETE), config=DISCRETE),
    _replay("state-moved", _reloaded, expect_zero=(*EMPTY, "held/1/state/*")),
    _replay("held", _held),
    # compiling takes seconds: one dtype here, and torch's compiler in the unit tests
    _replay(
        "same-sizes",
        _singles(4, TWO, ends=0.4),
        config=TWO,
        modes=("xla",),
        dtypes=("float64",),
        expect_zero=EMPTY,
    ),
    _function("many-ends", _window(4, 23, 0.2), modes=("eager", "xla")),
    _function("no-end", _window(3, 5, 0.0), expect_zero=("*/terminated", "*/truncated")),
    _function("images", _window(3, 7, 0.3, (4, 2, 3))),
    _function("no-discount", _window(5, 11, 0.2), options={"gamma": 0.0}),
    _function("square", _window(3, 3, 0.3, (3,))),
)
