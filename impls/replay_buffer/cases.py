"""What is done to replay buffers when they are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from impls.replay_buffer.config import ReplayBufferConfig
from parity.checks.function import FunctionCheck
from parity.checks.replay import Operation, ReplayCheck
from parity.tolerance import Tolerance

Rows = dict[str, np.ndarray]
Operations = Callable[[np.random.Generator], Sequence[Operation]]

EXACT = {
    dtype: {"*": Tolerance(0.0, "a buffer copies: not one bit may change")}
    for dtype in ("float32", "float64")
}
CONFIG = ReplayBufferConfig(capacity=5, observation_shape=(3,), action_shape=(2,))
DISCRETE = ReplayBufferConfig(5, observation_shape=(4,), action_shape=(), action_dtype="int64")
IMAGES = ReplayBufferConfig(5, observation_shape=(4, 3, 2), action_shape=(1,))


def rows(rng: np.random.Generator, count: int, config: ReplayBufferConfig = CONFIG) -> Rows:
    """Transitions that are all different, with every combination of the two flags."""
    arrays: Rows = {}
    for name, (shape, dtype) in config.layout("float64").items():
        size = (count, *shape)
        if dtype == "bool":
            arrays[name] = rng.random(size) < 0.4
        elif dtype == "int64":
            arrays[name] = rng.integers(0, 2, size)
        else:
            arrays[name] = rng.normal(size=size)
    return arrays


def _singles(count: int, config: ReplayBufferConfig = CONFIG) -> Operations:
    """One transition at a time, with all filled slots sampled in between."""

    def operations(rng: np.random.Generator) -> list[Operation]:
        found = []
        for i in range(count):
            found.append(Operation("add", {n: a[0] for n, a in rows(rng, 1, config).items()}))
            slots = np.arange(min(i + 1, config.capacity))
            found.append(Operation("sample", rng.permutation(slots)))
        return found

    return operations


def _batches(*sizes: int, config: ReplayBufferConfig = CONFIG, draws: int = 13) -> Operations:
    """Batches of these sizes, with a sample drawn after each."""

    def operations(rng: np.random.Generator) -> list[Operation]:
        found = []
        for size in sizes:
            found.append(Operation("add_batch", rows(rng, size, config)))
            found.append(Operation("draw", rng.random(draws)))
        return found

    return operations


def _reloaded(rng: np.random.Generator) -> list[Operation]:
    """The state moves into a new buffer half full, full, and with the cursor in the middle."""
    before = _batches(3, 4)(rng)
    return [
        before[0],
        Operation("reload"),
        *before[1:],
        Operation("reload"),
        *_batches(2, 1)(rng),
    ]


def _held(rng: np.random.Generator) -> list[Operation]:
    """What the buffer hands out is kept while it is written to, half full and full."""
    first, second, third = (_batches(size)(rng) for size in (3, 4, 2))
    return [*first, Operation("hold"), *second, Operation("hold"), *third]


def _edges(rng: np.random.Generator) -> Rows:
    """Draws at 0 and 1 and on both sides of every boundary between indices of 37 slots."""
    exact = (np.arange(1, 37) / 37).astype(np.float32)
    below = np.nextafter(exact, np.float32(0))
    above = np.nextafter(exact, np.float32(1))
    ends = np.array([0.0, 1.0, np.nextafter(np.float32(1), np.float32(0))], np.float32)
    return {"uniforms": np.concatenate([ends, exact, below, above]), "size": np.asarray(37)}


def _uniforms(count: int, size: int) -> Callable[[np.random.Generator], Rows]:
    return lambda rng: {"uniforms": rng.random(count), "size": np.asarray(size)}


def _keys(
    capacity: int, size: int, *, ties: bool = False, normal: bool = False
) -> Callable[[np.random.Generator], Rows]:
    """One key per slot in [0, 1); of only three values, or of either sign and any size."""

    def inputs(rng: np.random.Generator) -> Rows:
        keys = rng.choice([0.25, 0.5, 0.75], capacity) if ties else rng.random(capacity)
        if normal:
            keys = rng.normal(scale=3.0, size=capacity)
        return {"keys": keys, "size": np.asarray(size)}

    return inputs


def _replay(case: str, operations: Operations, **fields: Any) -> ReplayCheck:
    fields = {"config": CONFIG, "tolerances": EXACT, **fields}
    return ReplayCheck(name="ReplayBuffer", case=case, operations=operations, **fields)


def _indices(
    name: str,
    case: str,
    inputs: Callable[[np.random.Generator], Rows],
    expect_zero: tuple[str, ...] = (),
    **options: Any,
) -> FunctionCheck:
    return FunctionCheck(
        name=name,
        case=case,
        inputs=inputs,
        options=options,
        expect_zero=expect_zero,
        modes=("eager", "xla"),
    )


CHECKS = (
    _replay("one-by-one", _singles(12)),
    _replay("batches-that-wrap", _batches(3, 4, 1, 5, 2)),
    _replay("batch-larger-than-the-buffer", _batches(2, 12, 3)),
    _replay("empty-batch", _batches(3, 0, 3)),
    _replay("state-moved", _reloaded),
    _replay("held", _held),
    _replay("all-bits", _batches(3, 4), rounded=False, dtypes=("float64",)),
    _replay(
        "capacity-one",
        _batches(1, 3, 1),
        config=ReplayBufferConfig(1, observation_shape=(3,), action_shape=(2,)),
    ),
    _replay("discrete-actions", _batches(3, 4, config=DISCRETE), config=DISCRETE),
    _replay("images", _batches(3, 4, config=IMAGES), config=IMAGES),
    _replay("same-sizes", _batches(2, 2, 2, 2), modes=("eager", "xla")),
    # compiling takes seconds; the other modes run in both dtypes
    _replay("compiled", _batches(2, 2, 2, 2), modes=("compiled",), dtypes=("float64",)),
    _indices("sample_indices", "edges", _edges),
    _indices("sample_indices", "many", _uniforms(101, 7)),
    _indices("sample_indices", "one-slot", _uniforms(13, 1), expect_zero=("output/*",)),
    _indices("sample_indices", "large-buffer", _uniforms(101, 999_983)),
    _indices("indices_without_replacement", "partly-filled", _keys(37, 23), count=11),
    _indices("indices_without_replacement", "all-of-them", _keys(13, 7), count=7),
    _indices("indices_without_replacement", "full", _keys(13, 13), count=5),
    _indices("indices_without_replacement", "any-keys", _keys(37, 23, normal=True), count=23),
    _indices("indices_without_replacement", "ties", _keys(37, 31, ties=True), count=17),
)
