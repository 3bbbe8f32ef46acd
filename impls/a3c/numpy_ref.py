"""A3C in NumPy, float64: one array of parameters per worker, see ``spec.py`` for the contract."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.a2c import numpy_ref as a2c
from impls.a3c.config import (
    EVENT_LAYOUT,
    GROUP,
    PULL,
    PUSH,
    A3CConfig,
    initial_state,
    require_event,
    require_worker,
)
from impls.learner.config import require_state
from impls.learner.numpy_ref import Array, Arrays
from parity.random import Stream


class A3C:
    """The shared values, those that each worker holds, and one network to look at either with."""

    traces = 0

    def __init__(
        self, config: A3CConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        self.config = config
        self.shared = a2c.make_learner(config, dtype=dtype, variant=variant)
        self.workers = [a2c.make_learner(config, dtype=dtype) for _ in range(config.workers)]
        self.lock: Any = threading.Lock()
        self.events: list[tuple[int, int]] = []
        for worker in self.workers:
            worker._layouts = {**worker._layouts, "draws": EVENT_LAYOUT}
        self.load_state(initial_state(config, np.random.default_rng(0)))

    @property
    def order(self) -> Array:
        return np.array(self.events, np.int64).reshape(-1, 2)

    def pull(self, worker: Any) -> None:
        number = require_worker(worker, self.config.workers)
        with self.lock:
            self.events.append((number, PULL))
            for name, value in self.shared.under(f"param/{GROUP}").items():
                self.workers[number].values[f"param/{GROUP}/{name}"] = value.copy()

    def gradients(
        self,
        worker: Any,
        observation: Array,
        action: Array,
        reward: Array,
        next_observation: Array,
        terminated: Array,
        truncated: Array,
    ) -> tuple[Array, Arrays]:
        local = self.workers[require_worker(worker, self.config.workers)]
        target = local.target(reward, local.bootstrap(next_observation), terminated, truncated)
        rows = local.flatten(observation, action, local.advantage(observation, target), target)
        loss, _, _, _, gradients = local.gradients_of(*rows)
        if self.config.max_gradient_norm is not None:
            gradients = local.clip(gradients)[0]
        return loss, gradients

    def push(self, worker: Any, gradients: Mapping[str, Array]) -> None:
        number = require_worker(worker, self.config.workers)
        with self.lock:
            self.events.append((number, PUSH))
            self.shared.values["step"] += 1
            self.shared.apply(dict(gradients))

    def update(self, batch: Mapping[str, Array], draws: Mapping[str, Array]) -> Arrays:
        self.workers[0].require_batch(batch, draws)
        worker = require_worker(draws["worker"], self.config.workers)
        if require_event(draws["event"]) == PULL:
            self.pull(worker)
            return {}
        loss, gradients = self.gradients(worker, **batch)
        self.push(worker, gradients)
        return {"loss": loss}

    def act(self, observation: Array, draws: Mapping[str, Array]) -> Arrays:
        return self.shared.act(observation, draws)

    def greedy(self, observation: Array) -> Array:
        return self.shared.greedy(observation)

    def state(self) -> Arrays:
        state = self.shared.state()
        for i, worker in enumerate(self.workers):
            held = worker.under(f"param/{GROUP}")
            state |= {f"pulled/{i}/{name}": value.copy() for name, value in held.items()}
        return state

    def load_state(self, state: Mapping[str, Array]) -> None:
        require_state(state, self.state())
        self.shared.load_state({n: v for n, v in state.items() if not n.startswith("pulled/")})
        for i, worker in enumerate(self.workers):
            for name, value in worker.under(f"param/{GROUP}").items():
                value[...] = state[f"pulled/{i}/{name}"]

    def set_learning_rate(self, group: str, value: float) -> None:
        self.shared.set_learning_rate(group, value)

    def to_canonical(self, values: Mapping[str, Any]) -> Arrays:
        return self.shared.to_canonical(values)

    def from_canonical(self, values: Mapping[str, Array]) -> Arrays:
        return self.shared.from_canonical(values)


def make_learner(
    config: A3CConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> A3C:
    return A3C(config, dtype=dtype, device=device, variant=variant)


def worker_seeds(*, seed: int, workers: int) -> Any:
    stream = Stream(seed)
    return np.array([stream.fold_in(w).environment_seed() for w in range(workers)], np.int64)
