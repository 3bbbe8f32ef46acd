"""A learner in TensorFlow, as the training loops use it."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np
import tensorflow as tf

from impls.exploration import tf_impl as exploration_
from impls.learner.graphs_tf import Graphs, Source, graphs_if
from impls.replay_buffer import tf_impl as replay_buffer
from impls.replay_buffer.config import ReplayBufferConfig
from impls.training.sides import Arrays, Buffer


class TFSide:
    name = "tf"

    def __init__(self, learner: Any, dtype: str, compiled: bool, exploration: float) -> None:
        self.learner, self.dtype, self.exploration = learner, dtype, exploration
        self.compiled = compiled
        act, greedy = getattr(learner, "act", self._noisy), getattr(learner, "greedy", self._mean)
        # XLA for what is called in every step: 0.16 to 0.24 ms, without 0.20 to 0.43
        self._act = Graphs(act, xla=True) if compiled else act
        self._greedy = Graphs(greedy) if compiled else greedy

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

    def buffer(self, config: ReplayBufferConfig) -> Buffer:
        whole = self.compiled and self.learner.variant != "eager"
        return _Buffer(config, self.dtype, self.compiled, whole)

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


class _Buffer(Buffer):
    """The replay buffer; compiled, adding and sampling are one graph.

    Args:
        whole: the update is a graph as well, and what it is to learn from can be made in it.
    """

    def __init__(self, config: ReplayBufferConfig, dtype: str, compiled: bool, whole: bool) -> None:
        super().__init__()
        self._whole = whole
        self._sources: dict[tuple[int, bool], Source] = {}
        self._buffer = replay_buffer.ReplayBuffer(config, dtype=dtype)
        self._layout = config.layout(dtype)
        graph = graphs_if(compiled)
        self._store, self._read = graph(self._stored), graph(self._buffer.sample)
        self._store_and_read = graph(self._stored_and_read)

    def later(self, indices: np.ndarray) -> dict[str, Any]:
        if not self._whole:
            return self.sample(indices)
        rows = self._taken()
        inputs = [tf.constant(indices)]
        if rows is not None:
            inputs.insert(0, self._packed(rows))
        return self._source(len(indices), rows is not None)(*inputs)

    def _source(self, count: int, stores: bool) -> Source:
        """What samples so many rows, and stores any number before."""
        source = self._sources.get((count, stores))
        if source is None:
            slots = tf.TensorSpec([count], tf.int64)
            width = sum(int(np.prod(shape)) for shape, _ in self._layout.values())
            source = self._sources[count, stores] = (
                Source(self._stored_and_read, tf.TensorSpec([None, width], tf.float32), slots)
                if stores
                else Source(self._buffer.sample, slots)
            )
        return source

    def _add(self, rows: Arrays) -> None:
        self._store(self._packed(rows))

    def _sample(self, rows: Arrays | None, indices: np.ndarray) -> dict[str, tf.Tensor]:
        if rows is None:
            found: dict[str, tf.Tensor] = self._read(tf.constant(indices))
        else:
            found = self._store_and_read(self._packed(rows), tf.constant(indices))
        return found

    def _state(self) -> dict[str, Any]:
        return self._buffer.state()

    def _load_state(self, state: Mapping[str, Any]) -> None:
        self._buffer.load_state(state)

    def _packed(self, rows: Arrays) -> tf.Tensor:
        """All fields side by side, [N, width]: one conversion in place of six.

        float32 holds every value: what comes from an environment is float32, a flag, or the number
        of an action.
        """
        fields = [rows[name].reshape(len(rows["reward"]), -1) for name in self._layout]
        return tf.constant(np.concatenate(fields, axis=1, dtype=np.float32, casting="unsafe"))

    def _stored(self, packed: tf.Tensor) -> None:
        fields, start = {}, 0
        for name, (shape, kind) in self._layout.items():
            width = int(np.prod(shape))
            values = tf.reshape(packed[:, start : start + width], [-1, *shape])
            fields[name] = values != 0 if kind == "bool" else tf.cast(values, kind)
            start += width
        self._buffer.add_batch(fields)

    def _stored_and_read(self, packed: tf.Tensor, indices: tf.Tensor) -> dict[str, tf.Tensor]:
        self._stored(packed)
        return self._buffer.sample(indices)


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
