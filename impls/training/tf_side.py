"""A learner in TensorFlow, as the training loops use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import tensorflow as tf

from impls.exploration import tf_impl as exploration_
from impls.replay_buffer import tf_impl as replay_buffer
from impls.replay_buffer.config import ReplayBufferConfig
from impls.training.sides import Arrays


class TFSide:
    name = "tf"

    def __init__(self, learner: Any, dtype: str, compiled: bool, exploration: float) -> None:
        self.learner, self.dtype, self.exploration = learner, dtype, exploration
        self.compiled = compiled
        self._act = self._graph(learner.act if hasattr(learner, "act") else self._noisy)
        self._greedy = self._graph(learner.greedy if hasattr(learner, "greedy") else self._mean)

    def tensors(self, arrays: Arrays) -> dict[str, tf.Tensor]:
        return {name: self._tensor(array) for name, array in arrays.items()}

    def act(self, observation: np.ndarray, draws: Arrays) -> dict[str, np.ndarray]:
        made = self._act(self._tensor(observation), self.tensors(draws))
        return {name: value.numpy() for name, value in made.items()}

    def greedy(self, observation: np.ndarray) -> np.ndarray:
        found: np.ndarray = self._greedy(self._tensor(observation)).numpy()
        return found

    def update(
        self, batch: Mapping[str, tf.Tensor], draws: Mapping[str, tf.Tensor]
    ) -> Mapping[str, Any]:
        made: Mapping[str, Any] = self.learner.update(batch, draws)
        return made

    def buffer(self, config: ReplayBufferConfig) -> _Buffer:
        return _Buffer(replay_buffer.ReplayBuffer(config, dtype=self.dtype), self._graph)

    def _graph(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if not self.compiled:
            return function
        traced: Callable[..., Any] = tf.function(function, autograph=False)
        return traced

    def _mean(self, observation: tf.Tensor) -> tf.Tensor:
        return self.learner.networks["actor"](observation)

    def _noisy(self, observation: tf.Tensor, draws: Mapping[str, tf.Tensor]) -> dict[str, Any]:
        """A deterministic policy's action with Gaussian noise, within bounds."""
        bounds = np.array(self.learner.config.actor.bounds, self.dtype)
        action = exploration_.gaussian_action(
            self._mean(observation),
            draws["noise"],
            sigma=tf.constant(self.exploration * bounds, self.dtype),
            low=tf.constant(-bounds),
            high=tf.constant(bounds),
        )
        return {"action": action}

    def _tensor(self, array: np.ndarray) -> tf.Tensor:
        if array.dtype.kind == "f":
            return tf.constant(array, self.dtype)
        return tf.constant(array if array.dtype.kind == "b" else array.astype(np.int64))


class _Buffer:
    """The replay buffer, with sampling and adding as graphs where the learner is compiled."""

    def __init__(self, buffer: replay_buffer.ReplayBuffer, graph: Callable[..., Any]) -> None:
        self.add_batch = graph(buffer.add_batch)
        self.sample = graph(buffer.sample)
        self.state, self.load_state = buffer.state, buffer.load_state


def make(
    impl: ModuleType,
    config: Any,
    *,
    dtype: str,
    compiled: bool,
    threads: int,
    exploration: float,
) -> TFSide:
    variant = "function" if compiled else "eager"
    learner = impl.make_learner(config, dtype=dtype, variant=variant)
    return TFSide(learner, dtype, compiled, exploration)
