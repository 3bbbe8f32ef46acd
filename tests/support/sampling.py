"""Small learners with a replay buffer, sampled in the update's graph or before it.

The other side of a comparison is a ring of NumPy arrays, whose rows are given to the same learner's
``update`` as tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

from impls.replay_buffer.config import ReplayBufferConfig
from impls.training.registry import algorithm
from impls.training.sides import make_side

CONFIGS = {"ddpg": "DDPGConfig", "td3": "TD3Config", "sac": "SACConfig", "dqn": "DQNConfig"}
FIELDS: Mapping[str, dict[str, Any]] = {"td3": {"policy_delay": 2}, "dqn": {"target_period": 2}}
BATCH, CAPACITY = 13, 17
ADDED = (14, 1, 0, 5, 1, 0, 20, 1, 2)
"""Rows before each update: some, none, enough to wrap the ring, more than it has slots."""
GRAPH = {"tf": "function", "torch": "compile"}
"""The variant whose update is one graph."""


class Trained:
    """A small learner with a buffer that is sampled in its graph, or with the ring of arrays."""

    def __init__(
        self,
        framework: str,
        name: str,
        *,
        in_graph: bool = True,
        variant: str | None = None,
        dtype: str = "float32",
    ) -> None:
        sizes = {"observation_size": 3, "action_size": 2, "hidden_sizes": (11, 7)}
        module = import_module(f"impls.{name}.config")
        config = getattr(module, CONFIGS[name])(**sizes, **FIELDS.get(name, {}), check_finite=False)
        real = import_module(f"impls.{name}.{framework}_impl")

        def make_learner(config: Any, *, dtype: str, variant: str) -> Any:
            return real.make_learner(config, dtype=dtype, variant=self.variant)

        self.name, self.variant = name, variant or GRAPH[framework]
        self.side = make_side(
            framework, algorithm(name), config, dtype=dtype, compiled=self.variant != "eager",
            impl=SimpleNamespace(make_learner=make_learner),
        )  # fmt: skip
        self.learner = self.side.learner
        self.learner.load_state(module.initial_state(config, np.random.default_rng(1)))
        self.discrete, self.in_graph = name == "dqn", in_graph
        action = () if self.discrete else (2,)
        kept = ReplayBufferConfig(CAPACITY, (3,), action, "int64" if self.discrete else None)
        self.buffer = self.side.buffer(kept)
        self.ring: dict[str, np.ndarray] = {}
        self.size = self.cursor = 0

    def add(self, rows: Mapping[str, np.ndarray]) -> None:
        for i in range(len(rows["reward"])):
            row = {n: v[i : i + 1] for n, v in rows.items()}
            self.buffer.add(row)
            for name, value in row.items():
                empty = np.zeros((CAPACITY, *value.shape[1:]), value.dtype)
                self.ring.setdefault(name, empty)[self.cursor] = value[0]
            self.cursor = (self.cursor + 1) % CAPACITY
            self.size = min(self.size + 1, CAPACITY)

    def update(self, slots: np.ndarray, draws: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        given = self.side.tensors({n: v for n, v in draws.items() if n in self._drawn})
        batch = (
            self.buffer.later(slots)
            if self.in_graph
            else self.side.tensors({n: v[slots] for n, v in self.ring.items()})
        )
        return {n: np.asarray(v) for n, v in self.side.update(batch, given).items()}

    def state(self) -> dict[str, np.ndarray]:
        held = self.buffer.state() if self.in_graph else self.side.tensors(self.ring)
        kept = {f"buffer/{n}": np.asarray(held[n])[: self.size].copy() for n in self.ring}
        return {**self.learner.state(), **kept}

    @property
    def _drawn(self) -> tuple[str, ...]:
        return {"td3": ("noise",), "sac": ("noise", "next_noise")}.get(self.name, ())


def rows_of(rng: np.random.Generator, count: int, discrete: bool) -> dict[str, np.ndarray]:
    action = rng.integers(2, size=count) if discrete else rng.uniform(-1, 1, (count, 2))
    return {
        "observation": rng.normal(size=(count, 3)).astype(np.float32),
        "action": action if discrete else action.astype(np.float32),
        "reward": rng.normal(size=count).astype(np.float32),
        "next_observation": rng.normal(size=(count, 3)).astype(np.float32),
        "terminated": rng.random(count) < 0.2,
        "truncated": rng.random(count) < 0.2,
    }


def draws_of(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {n: rng.normal(size=(BATCH, 2)).astype(np.float32) for n in ("noise", "next_noise")}


Between = Callable[[int, Trained], None]


def history(made: Trained, between: Between = lambda k, made: None) -> list[dict[str, Any]]:
    """What every update returns, and the state behind it."""
    rng, found = np.random.default_rng(0), []
    for k, count in enumerate(ADDED):
        made.add(rows_of(rng, count, made.discrete))
        between(k, made)
        slots = rng.integers(made.size, size=BATCH)
        slots[0] = (made.cursor - 1) % CAPACITY  # the row that has just come
        returned = made.update(slots, draws_of(rng))
        found.append({**{f"made/{n}": v for n, v in returned.items()}, **made.state()})
    return found


def assert_same_bits(
    ours: list[dict[str, np.ndarray]], theirs: list[dict[str, np.ndarray]]
) -> None:
    for k, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert one.keys() == other.keys()
        for name, value in one.items():
            np.testing.assert_array_equal(value, other[name], err_msg=f"update {k}: {name}")
