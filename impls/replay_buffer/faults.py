"""Bugs planted in the replay buffer, and misuses that it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, EmptyBufferError, NonFiniteError, ShapeError
from impls.replay_buffer.cases import CONFIG, Rows, rows
from impls.replay_buffer.config import ReplayBufferConfig
from parity.component import ErrorCase, Mutant, Side

MUTANTS = (
    Mutant(
        id="wraps-one-slot-early",
        find="slots = (first + tf.range(kept)) % capacity",
        replace="slots = (first + tf.range(kept)) % tf.maximum(capacity - 1, 1)",
        caught_by="replay.ReplayBuffer",
        because="off by one: the last slot is never written",
    ),
    Mutant(
        id="cursor-not-wrapped",
        find="self._cursor.assign((self._cursor + count) % capacity)",
        replace="self._cursor.assign(tf.minimum(self._cursor + count, capacity) % capacity)",
        caught_by="replay.ReplayBuffer",
        because="a batch across the end leaves the cursor at the start",
    ),
    Mutant(
        id="size-counts-on",
        find="self._size.assign(tf.minimum(self._size + count, capacity))",
        replace="self._size.assign_add(count)",
        caught_by="replay.ReplayBuffer",
        because="size goes beyond the capacity once the ring is full",
        case="one-by-one",
    ),
    Mutant(
        id="first-rows-of-a-large-batch",
        find="rows[name][count - kept :]",
        replace="rows[name][:kept]",
        caught_by="replay.ReplayBuffer",
        because="the oldest rows of a batch larger than the buffer are kept",
        case="batch-larger-than-the-buffer",
    ),
    Mutant(
        id="large-batch-not-shifted",
        find="first = self._cursor + (count - kept)",
        replace="first = self._cursor",
        caught_by="replay.ReplayBuffer",
        because="the kept rows start at the cursor, as if the dropped ones had not come first",
        case="batch-larger-than-the-buffer",
    ),
    Mutant(
        id="next-observation-overwritten",
        find="rows[name][count - kept :]",
        replace='rows[name.removeprefix("next_")][count - kept :]',
        caught_by="replay.ReplayBuffer",
        because="the array that the environment reuses is stored twice",
    ),
    Mutant(
        id="flags-merged",
        find="return {name: tf.gather(values, slots) for name, values in self._storage.items()}",
        replace="found = {name: tf.gather(values, slots) for name, values in self._storage.items()}"
        '\n        found["terminated"] = found["terminated"] | found["truncated"]'
        "\n        return found",
        caught_by="replay.ReplayBuffer",
        because="one done flag for both ends of an episode",
    ),
    Mutant(
        id="size-frozen-by-tracing",
        find='change it."""\n        return tf.identity(self._size)',
        replace='change it."""\n'
        "        with tf.init_scope():\n            return tf.constant(int(self._size))",
        caught_by="replay.ReplayBuffer",
        because="the size is a Python number when the step is traced, and stays that number",
        case="compiled",
        mode="compiled",
    ),
    Mutant(
        id="cursor-lost-on-reload",
        find='        self._cursor.assign(entries["cursor"])\n',
        replace="",
        caught_by="replay.ReplayBuffer",
        because="a resumed run overwrites the newest transitions first",
        case="state-moved",
    ),
    Mutant(
        id="state-shares-memory",
        find="fields = {name: values.clone() for name, values in self._storage.items()}",
        replace="fields = dict(self._storage)",
        caught_by="replay.ReplayBuffer",
        because="a checkpoint in memory that later additions write into",
        sibling="torch",
        case="held",
    ),
    Mutant(
        id="size-is-the-variable",
        find='change it."""\n        return tf.identity(self._size)',
        replace='change it."""\n        return self._size',
        caught_by="replay.ReplayBuffer",
        because="a size that was asked for before an addition counts it",
        case="held",
    ),
    Mutant(
        id="loaded-state-shares-memory",
        find="self._storage[name].copy_(entries[name])",
        replace="self._storage[name] = entries[name]",
        caught_by="replay.ReplayBuffer",
        because="the buffer writes into the checkpoint that it was loaded from",
        sibling="torch",
        case="state-moved",
    ),
    Mutant(
        id="stored-in-float32",
        find="rows[name][count - kept :]",
        replace="tf.cast(tf.cast(rows[name], tf.float32), rows[name].dtype)[count - kept :]",
        caught_by="replay.ReplayBuffer",
        because="float64 values lose bits; those that float32 can hold do not show it",
        case="all-bits",
    ),
    Mutant(
        id="empty-slots-at-minus-one",
        find="tf.where(empty, -keys.dtype.max, -keys)",
        replace="tf.where(empty, -tf.ones_like(keys), -keys)",
        caught_by="function.indices_without_replacement",
        because="keys are taken to be in [0, 1)",
        case="any-keys",
    ),
    Mutant(
        id="draw-reaches-one-slot-less",
        find="tf.cast(uniforms, tf.float64) * tf.cast(filled, tf.float64)",
        replace="tf.cast(uniforms, tf.float64) * tf.cast(filled - 1, tf.float64)",
        caught_by="function.sample_indices",
        because="the newest slot is never drawn",
    ),
    Mutant(
        id="draw-in-float32",
        find="tf.cast(uniforms, tf.float64) * tf.cast(filled, tf.float64)",
        replace="tf.cast(uniforms, tf.float32) * tf.cast(filled, tf.float32)",
        caught_by="function.sample_indices",
        because="the rounded product crosses into the next index",
        case="edges",
    ),
    Mutant(
        id="draw-rounded",
        find="slots = tf.floor(",
        replace="slots = tf.round(",
        caught_by="function.sample_indices",
        because="rounding gives the first and the last slot half a share",
    ),
    Mutant(
        id="draw-of-one-not-clipped",
        find="return tf.minimum(tf.cast(slots, tf.int64), filled - 1)",
        replace="return tf.cast(slots, tf.int64)",
        caught_by="function.sample_indices",
        because="a draw that was rounded up to 1 gives an index behind the end",
        case="edges",
    ),
    Mutant(
        id="empty-slots-drawn",
        find="tf.where(empty, -keys.dtype.max, -keys)",
        replace="-keys",
        caught_by="function.indices_without_replacement",
        because="slots that were never written take part",
        case="partly-filled",
    ),
    Mutant(
        id="largest-keys",
        find="tf.where(empty, -keys.dtype.max, -keys)",
        replace="tf.where(empty, -keys.dtype.max, keys)",
        caught_by="function.indices_without_replacement",
        because="top_k taken for an ascending sort",
    ),
    Mutant(
        id="ties-in-any-order",
        find="order = torch.argsort(keys.masked_fill(empty, torch.inf), stable=True)",
        replace="order = torch.argsort(keys.masked_fill(empty, torch.inf).flip(0)).sub(36).neg()",
        caught_by="function.indices_without_replacement",
        because="among equal keys the higher index comes first",
        sibling="torch",
        case="ties",
    ),
)


def _batch(count: int = 3, **changes: Any) -> Rows:
    return {**rows(np.random.default_rng(0), count), **changes}


def _tensors(side: Side, values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: side.backend.tensor(value, dtype=side.dtype, device=side.device)
        if isinstance(value, np.ndarray)
        else value
        for name, value in values.items()
    }


def _buffer(side: Side, filled: int = 0, config: ReplayBufferConfig = CONFIG) -> Any:
    buffer = side.impl.ReplayBuffer(config, dtype=side.dtype, device=side.device)
    if filled:
        buffer.add_batch(_tensors(side, _batch(filled)))
    return buffer


def _add(values: Mapping[str, Any]) -> Callable[[Side], Any]:
    return lambda side: _buffer(side).add_batch(_tensors(side, values))


def _sample(indices: Any, filled: int = 3) -> Callable[[Side], Any]:
    def call(side: Side) -> Any:
        tensor = side.backend.tensor(np.asarray(indices), device=side.device)
        return _buffer(side, filled).sample(tensor)

    return call


def _draw(name: str, draws: Any, *arguments: Any) -> Callable[[Side], Any]:
    def call(side: Side) -> Any:
        tensor = side.backend.tensor(np.asarray(draws), dtype=side.dtype, device=side.device)
        return getattr(side.impl, name)(tensor, *arguments)

    return call


def _load(**changes: Any) -> Callable[[Side], Any]:
    def call(side: Side) -> Any:
        state = {**_buffer(side, 3).state(), **_tensors(side, changes)}
        return _buffer(side).load_state({k: v for k, v in state.items() if v is not None})

    return call


def _config(**fields: Any) -> Callable[[Side], Any]:
    sizes = {"capacity": 5, "observation_shape": (3,), "action_shape": (2,), **fields}
    return lambda side: _buffer(side, config=ReplayBufferConfig(**sizes))


def _with(array: np.ndarray, index: tuple[int, ...], value: float) -> np.ndarray:
    array = array.copy()
    array[index] = value
    return array


_GOOD = _batch()
_NO_REWARD = {name: array for name, array in _GOOD.items() if name != "reward"}
_NAN = _batch(observation=_with(_GOOD["observation"], (1, 2), np.nan))
_INF = _batch(reward=_with(_GOOD["reward"], (2,), np.inf))
_HALF = _draw("sample_indices", np.ones((3, 1)), 7)
_SHORT, _KEYS = "indices_without_replacement", np.ones(13)
ERRORS = tuple(
    ErrorCase(case, call, error, match)
    for case, call, error, match in (
        ("capacity-float", _config(capacity=5.0), ConfigError, "capacity=5.0"),
        ("capacity-zero", _config(capacity=0), ConfigError, "capacity=0"),
        ("size-zero", _config(observation_shape=(0,)), ConfigError, r"observation_shape=\(0,\)"),
        ("unknown-dtype", _config(action_dtype="int7"), ConfigError, "action_dtype='int7'"),
        ("nan-row", _add(_NAN), NonFiniteError, r"observation holds nan at index \[1, 2\]"),
        ("infinite-reward", _add(_INF), NonFiniteError, r"reward holds inf at index \[2\]"),
        ("field-missing", _add(_NO_REWARD), ShapeError, "reward"),
        ("field-unknown", _add(_batch(done=np.ones(3))), ShapeError, "done"),
        ("fields-differ-in-n", _add(_batch(reward=np.ones(4))), ShapeError, "N.*'reward': 4"),
        ("column", _add(_batch(reward=np.ones((3, 1)))), ShapeError, r"reward.*\[3, 1\].*\[N\]"),
        ("flag-as-float", _add(_batch(terminated=np.ones(3))), DtypeError, "terminated.*bool"),
        ("reward-as-integer", _add(_batch(reward=np.arange(3))), DtypeError, "reward is int64"),
        ("empty-buffer", _sample([0], filled=0), EmptyBufferError, "empty"),
        ("index-beyond", _sample([0, 2, 3]), IndexError, r"indices\[2\] = 3 .*\[0, 3\)"),
        ("index-negative", _sample([0, -1]), IndexError, r"indices\[1\] = -1"),
        ("index-as-float", _sample([0.0, 1.0]), DtypeError, "indices is float"),
        ("index-scalar", _sample(2), ShapeError, r"indices has shape \[\]|\(\)"),
        ("draw-from-nothing", _draw("sample_indices", np.ones(3), 0), EmptyBufferError, "size=0"),
        ("draws-in-a-column", _HALF, ShapeError, "uniforms"),
        ("draws-of-integers", _draw("sample_indices", [1, 2], 7), DtypeError, "uniforms is int64"),
        ("more-than-held", _draw(_SHORT, _KEYS, 8, 7), EmptyBufferError, "count=8.*only 7"),
        ("none-wanted", _draw(_SHORT, _KEYS, 0, 7), ConfigError, "count=0"),
        ("more-than-keys", _draw(_SHORT, _KEYS, 14, 20), ConfigError, "count=14"),
        ("state-without-cursor", _load(cursor=None), ConfigError, "cursor"),
        ("state-of-no-ring", _load(cursor=np.asarray(1)), ConfigError, "size=3, cursor=1"),
        ("state-too-short", _load(reward=np.ones(4)), ShapeError, r"reward.*\[4\].*\[5\]"),
    )
)
