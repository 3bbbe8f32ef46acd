"""A3C in TensorFlow: see ``spec.py`` for the contract."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from impls.a2c import tf_impl as a2c
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
from impls.learner.graphs_tf import graphs_if
from parity.random import Stream

Tensors = dict[str, tf.Tensor]


class A3C:
    """A learner for the shared parameters, and one per worker for what it pulled."""

    def __init__(
        self, config: A3CConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        self.config = config
        self.shared = a2c.make_learner(config, dtype=dtype, device=device, variant=variant)
        self.workers = [
            a2c.make_learner(config, dtype=dtype, device=device, variant=variant)
            for _ in range(config.workers)
        ]
        self.lock: Any = threading.Lock()
        self.events: list[tuple[int, int]] = []
        self._chains = [self._chain(worker) for worker in self.workers]
        # for all who call it, also while another thread stands around it
        self.shared.apply = self.shared.compiled(self.shared.apply)  # type: ignore[method-assign]
        # XLA would win nothing from copies
        graph = graphs_if(variant != "eager")
        self._pulls = [graph(functools.partial(self._copy, worker)) for worker in self.workers]
        for worker in self.workers:
            worker._layouts = {**worker._layouts, "draws": EVENT_LAYOUT}
        self.load_state(initial_state(config, np.random.default_rng(0)))

    @property
    def traces(self) -> int:
        return sum(worker.traces for worker in self.workers)

    @property
    def order(self) -> np.ndarray:
        return np.array(self.events, np.int64).reshape(-1, 2)

    def pull(self, worker: Any) -> None:
        number = require_worker(worker, self.config.workers)
        with self.lock:
            self.events.append((number, PULL))
            self._pulls[number]()

    def gradients(
        self,
        worker: Any,
        observation: tf.Tensor,
        action: tf.Tensor,
        reward: tf.Tensor,
        next_observation: tf.Tensor,
        terminated: tf.Tensor,
        truncated: tf.Tensor,
    ) -> tuple[tf.Tensor, Tensors]:
        number = require_worker(worker, self.config.workers)
        loss, gradients = self._chains[number](
            observation, action, reward, next_observation, terminated, truncated
        )
        return loss, gradients

    def push(self, worker: Any, gradients: Mapping[str, tf.Tensor]) -> None:
        number = require_worker(worker, self.config.workers)
        with self.lock:
            self.events.append((number, PUSH))
            self.shared.step += 1
            self.shared.apply(gradients)

    def update(self, batch: Mapping[str, tf.Tensor], draws: Mapping[str, tf.Tensor]) -> Tensors:
        self.workers[0].require_batch(batch, draws)
        worker = require_worker(draws["worker"], self.config.workers)
        if require_event(draws["event"]) == PULL:
            self.pull(worker)
            return {}
        loss, gradients = self.gradients(worker, **batch)
        self.push(worker, gradients)
        return {"loss": loss}

    def act(self, observation: tf.Tensor, draws: Mapping[str, tf.Tensor]) -> Tensors:
        return self.shared.act(observation, draws)

    def greedy(self, observation: tf.Tensor) -> tf.Tensor:
        return self.shared.greedy(observation)

    def state(self) -> dict[str, np.ndarray]:
        state = self.shared.state()
        for i, worker in enumerate(self.workers):
            held = worker.to_canonical(worker.parameters[GROUP])
            state |= {f"pulled/{i}/{name}": value for name, value in held.items()}
        return state

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        require_state(state, self.state())
        own = {n: v for n, v in state.items() if not n.startswith("pulled/")}
        self.shared.load_state(own)
        for i, worker in enumerate(self.workers):
            start = f"param/{GROUP}/"
            held = {n: state[f"pulled/{i}/{n[len(start) :]}"] for n in own if n.startswith(start)}
            worker.load_state({**own, **held})

    def set_learning_rate(self, group: str, value: float) -> None:
        self.shared.set_learning_rate(group, value)

    def to_canonical(self, values: Mapping[str, tf.Tensor]) -> dict[str, np.ndarray]:
        return self.shared.to_canonical(values)

    def from_canonical(self, values: Mapping[str, np.ndarray]) -> Tensors:
        return self.shared.from_canonical(values)

    def _copy(self, worker: a2c.A2C) -> None:
        """The shared parameters, as they are now, to a worker."""
        for name, variable in worker.parameters[GROUP].items():
            variable.assign(self.shared.parameters[GROUP][name])

    def _chain(self, worker: a2c.A2C) -> Callable[..., Any]:
        """From a rollout to the gradients, as the worker's variant runs it."""

        def run(
            observation: tf.Tensor,
            action: tf.Tensor,
            reward: tf.Tensor,
            next_observation: tf.Tensor,
            terminated: tf.Tensor,
            truncated: tf.Tensor,
        ) -> tuple[tf.Tensor, Tensors]:
            next_value = worker.bootstrap(next_observation)
            target = worker.target(reward, next_value, terminated, truncated)
            advantage = worker.advantage(observation, target)
            rows = worker.flatten(observation, action, advantage, target)
            loss, *_, gradients = worker.gradients_of(*rows)
            if worker.config.max_gradient_norm is not None:
                gradients, _ = worker.clip(gradients)
            return loss, gradients

        return worker.compiled(run)


def make_learner(
    config: A3CConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> A3C:
    return A3C(config, dtype=dtype, device=device, variant=variant)


def worker_seeds(*, seed: int, workers: int) -> Any:
    stream = Stream(seed).tf()
    first = [stream.fold_in(worker).bits((1,))[0] for worker in range(workers)]
    return tf.bitwise.bitwise_and(tf.stack(first), 0xFFFFFFFF) // 2
