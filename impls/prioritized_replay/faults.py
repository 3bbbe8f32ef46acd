"""Bugs planted in prioritized replay, and misuses that it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from impls.errors import ConfigError, DtypeError, EmptyBufferError, NonFiniteError, ShapeError
from impls.prioritized_replay.cases import CONFIG
from impls.prioritized_replay.config import PrioritizedReplayConfig
from impls.replay_buffer.cases import rows
from parity.component import ErrorCase, Mutant, Side

CHECK = "replay.PrioritizedReplay"


def _mutant(
    name: str, find: str, replace: str, case: str, because: str, side: str = "tf"
) -> Mutant:
    return Mutant(
        id=name,
        find=find,
        replace=replace,
        caught_by=CHECK,
        because=because,
        sibling=side,
        case=case,
    )


MUTANTS = (
    _mutant(
        "new-ones-have-priority-one",
        "tf.fill(tf.shape(slots), self._highest)",
        "tf.ones(tf.shape(slots), tf.float64)",
        "state-moved",
        "new transitions are hardly drawn once errors are large",
    ),
    _mutant(
        "highest-of-the-last-update",
        "tf.concat([self._highest[tf.newaxis], priority], 0)",
        "priority",
        "state-moved",
        "new transitions take the highest priority of the last update, not of all",
    ),
    _mutant(
        "overwritten-keeps-its-priority",
        "        self._set(slots, self._highest.expand(slots.shape))\n",
        "        old = self._tree[self.config.leaves + slots]\n"
        "        self._set(slots, torch.where(old > 0.0, old, self._highest))\n",
        "mixed",
        "a new transition inherits the priority of the one that it replaces",
        "torch",
    ),
    _mutant(
        "alpha-forgotten",
        "(magnitude + self.config.epsilon) ** self.config.alpha",
        "magnitude + self.config.epsilon",
        "mixed",
        "priorities are the errors themselves",
        "torch",
    ),
    _mutant(
        "epsilon-outside-the-power",
        "(magnitude + self.config.epsilon) ** self.config.alpha",
        "magnitude**self.config.alpha + self.config.epsilon",
        "extremes",
        "hardly to be seen but where errors are small",
    ),
    _mutant(
        "squared-error",
        "tf.abs(tf.cast(_require_finite(td_error), tf.float64))",
        "tf.square(tf.cast(_require_finite(td_error), tf.float64))",
        "mixed",
        "the loss in place of the error's magnitude",
    ),
    _mutant(
        "sums-one-level-up-only",
        "        for _ in range(self.config.depth):\n            node //= 2",
        "        for _ in range(min(self.config.depth, 1)):\n            node //= 2",
        "mixed",
        "the root still holds the old total",
    ),
    _mutant(
        "first-duplicate-wins",
        "torch.where(same, order, -1).amax(1)",
        "torch.where(same, order, slots.shape[0]).amin(1)",
        "duplicates",
        "of several errors for one slot the oldest stays",
        "torch",
    ),
    _mutant(
        "largest-duplicate-wins",
        "self._set(slots, tf.gather(priority, last))",
        "self._set(slots, tf.reduce_max(tf.where(same, priority[tf.newaxis, :], 0.0), axis=1))",
        "duplicates",
        "a scatter with max in place of one with last",
    ),
    _mutant(
        "no-strata",
        "mass = (stratum + uniforms.to(torch.float64)) / count * self._tree[1]",
        "mass = uniforms.to(torch.float64) * self._tree[1]",
        "mixed",
        "independent draws from the whole mass",
        "torch",
    ),
    _mutant(
        "boundary-belongs-to-the-left",
        "right = (mass >= below)",
        "right = (mass > below)",
        "edges",
        "a draw on the boundary takes the slot before it",
    ),
    _mutant(
        "mass-in-float32",
        "mass *= self._tree[1]",
        "mass = tf.cast(tf.cast(mass * self._tree[1], tf.float32), tf.float64)",
        "edges",
        "a rounded mass crosses into the next slot",
    ),
    _mutant(
        "mass-not-reduced",
        "mass = torch.where(right, mass - below, mass)",
        "mass = mass.clone()",
        "mixed",
        "going right forgets to subtract what lies left",
        "torch",
    ),
    _mutant(
        "empty-leaf-reached",
        " & (tf.gather(self._tree, left + 1) > 0.0)",
        "",
        "edges",
        "a draw of 1 leaves the filled slots",
    ),
    _mutant(
        "weights-inverted",
        "exponent = -tf.cast(beta, tf.float64)",
        "exponent = tf.cast(beta, tf.float64)",
        "mixed",
        "frequent rows get the larger weight",
    ),
    _mutant(
        "beta-ignored",
        "exponent = -torch.as_tensor(beta, device=self.device).to(torch.float64)",
        "exponent = -torch.ones((), dtype=torch.float64)",
        "mixed",
        "the full correction from the start",
        "torch",
    ),
    _mutant(
        "largest-weight-of-the-batch",
        "lowest = leaves.masked_fill(empty, torch.inf).min()",
        "lowest = leaves[slots].min()",
        "mixed",
        "normalised by what was drawn: as many libraries do, and not the same number",
        "torch",
    ),
    _mutant(
        "not-normalised",
        "tf.gather(leaves, slots) / lowest",
        "tf.gather(leaves, slots) * tf.cast(self._size, tf.float64) / self._tree[1]",
        "mixed",
        "weights above 1, which scale the step size up",
    ),
    _mutant(
        "priorities-lost-on-reload",
        "priority.to(self.device))\n",
        "(priority > 0.0).to(torch.float64))\n",
        "state-moved",
        "a resumed run samples uniformly",
        "torch",
    ),
    _mutant(
        "highest-lost-on-reload",
        "self._highest.assign(highest)",
        "self._highest.assign(tf.reduce_max(priority))",
        "state-moved",
        "a resumed run adds with the highest priority that is still held",
    ),
)


def _tensors(side: Side, values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: side.backend.tensor(value, dtype=side.dtype, device=side.device)
        if isinstance(value, np.ndarray)
        else value
        for name, value in values.items()
    }


def _buffer(side: Side, filled: int = 0, config: PrioritizedReplayConfig = CONFIG) -> Any:
    buffer = side.impl.PrioritizedReplay(config, dtype=side.dtype, device=side.device)
    if filled:
        buffer.add_batch(_tensors(side, rows(np.random.default_rng(0), filled, config)))
    return buffer


def _call(method: str, filled: int = 3, **arguments: Any) -> Callable[[Side], Any]:
    values = {n: np.asarray(a) if isinstance(a, list) else a for n, a in arguments.items()}
    return lambda side: getattr(_buffer(side, filled), method)(**_tensors(side, values))


def _load(**changes: Any) -> Callable[[Side], Any]:
    def call(side: Side) -> Any:
        state = _buffer(side, 3).state()
        for name, value in changes.items():
            state[name] = side.backend.tensor(value, device=side.device)
        return _buffer(side).load_state(state)

    return call


def _lacking(name: str) -> Callable[[Side], Any]:
    return lambda side: _buffer(side).load_state(
        {n: v for n, v in _buffer(side, 3).state().items() if n != name}
    )


def _config(**fields: Any) -> Callable[[Side], Any]:
    sizes = {"capacity": 5, "observation_shape": (3,), "action_shape": (2,), **fields}
    return lambda side: _buffer(side, config=PrioritizedReplayConfig(**sizes))


_HIGH = np.array([1.0, 2.0, 1.0, *[0.0] * 8])
_EMPTY_SLOT = np.array([1.0, 1.0, *[0.0] * 9])
_UPDATE = "update_priorities"
ERRORS = tuple(
    ErrorCase(case, call, error, match)
    for case, call, error, match in (
        ("capacity-zero", _config(capacity=0), ConfigError, "capacity=0"),
        ("alpha-negative", _config(alpha=-0.5), ConfigError, r"alpha=-0\.5"),
        ("epsilon-zero", _config(epsilon=0.0), ConfigError, r"epsilon=0\.0"),
        ("draw-from-nothing", _call("draw", 0, uniforms=[0.5]), EmptyBufferError, "empty"),
        ("draw-of-integers", _call("draw", uniforms=[1, 2]), DtypeError, "uniforms is int64"),
        ("draw-in-a-column", _call("draw", uniforms=[[0.5]]), ShapeError, r"uniforms.*\[1, 1\]"),
        (
            "weights-beyond",
            _call("weights", indices=[0, 3], beta=0.5),
            IndexError,
            r"indices\[1\] = 3 .*\[0, 3\)",
        ),
        ("beta-above-one", _call("weights", indices=[0], beta=1.5), ConfigError, r"beta=1\.5"),
        (
            "beta-per-row",
            _call("weights", indices=[0, 1], beta=[0.5, 0.5]),
            ShapeError,
            r"beta has shape \[2\]",
        ),
        (
            "update-beyond",
            _call(_UPDATE, indices=[-1], td_error=[0.5]),
            IndexError,
            r"indices\[0\] = -1",
        ),
        (
            "update-of-other-length",
            _call(_UPDATE, indices=[0, 1], td_error=[0.5]),
            ShapeError,
            r"td_error has shape \[1\], must be \[2\]",
        ),
        (
            "update-with-nan",
            _call(_UPDATE, indices=[0, 1], td_error=[0.5, np.nan]),
            NonFiniteError,
            r"td_error holds nan at index \[1\]",
        ),
        (
            "update-of-integers",
            _call(_UPDATE, indices=[0], td_error=[2]),
            DtypeError,
            "td_error is int64",
        ),
        ("state-without-priority", _lacking("priority"), ConfigError, "priority"),
        ("state-without-cursor", _lacking("cursor"), ConfigError, "cursor"),
        ("state-too-short", _load(priority=np.ones(4)), ShapeError, r"priority.*\[4\].*\[11\]"),
        (
            "state-in-float32",
            _load(priority=_HIGH.astype(np.float32)),
            DtypeError,
            "priority is float32",
        ),
        ("state-above-highest", _load(priority=_HIGH), ConfigError, r"max_priority=1\.0"),
        ("state-of-empty-slot", _load(priority=_EMPTY_SLOT), ConfigError, "first size=3 slots"),
    )
)
