"""n-step replay in TensorFlow: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from impls.errors import ShapeError
from impls.n_step_replay.config import WINDOW, NStepReplayConfig, require_pending, require_window
from impls.replay_buffer.tf_impl import ReplayBuffer, sample_indices

__all__ = ["NStepReplay", "n_step_transitions", "sample_indices"]


class NStepReplay(ReplayBuffer):
    """A ring of n-step transitions, behind a window of the last n steps of B environments."""

    config: NStepReplayConfig

    def __init__(self, config: NStepReplayConfig, *, dtype: str, device: str = "cpu") -> None:
        super().__init__(config, dtype=dtype, device=device)
        self._of_step = config.step_layout(dtype)
        with tf.device(self.device):
            self._window = {
                name: tf.Variable(tf.zeros((config.steps, *shape), kind), trainable=False)
                for name, (shape, kind) in self._of_step.items()
            }
            self._seen = tf.Variable(0, dtype=tf.int64, trainable=False)

    def add(self, step: Mapping[str, Any]) -> None:
        self._push(self._checked(step, batched=False, layout=self._of_step))

    def add_batch(self, steps: Mapping[str, Any]) -> None:
        rows = self._checked(steps, batched=True, layout=self._of_step)
        if rows["reward"].shape[0] is None:
            raise ShapeError("steps: their number T must be known while tracing")
        for t in range(rows["reward"].shape[0]):
            self._push({name: values[t] for name, values in rows.items()})

    def state(self) -> dict[str, Any]:
        pending = {f"{WINDOW}{name}": tf.identity(v) for name, v in self._window.items()}
        return {**super().state(), **pending, "seen": tf.identity(self._seen)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        entries = {name: tf.convert_to_tensor(value) for name, value in state.items()}
        require_pending(entries, self._of_step, self.config.steps)
        pending = {name: entries.pop(f"{WINDOW}{name}") for name in self._window}
        seen = entries.pop("seen")
        super().load_state(entries)
        for name, values in self._window.items():
            values.assign(pending[name])
        self._seen.assign(seen)

    def _push(self, step: Mapping[str, tf.Tensor]) -> None:
        """Take one step in; the transition that began n - 1 steps ago is complete then."""
        with tf.control_dependencies(list(step.values())):  # in a graph: all fields or none
            window = {
                name: tf.concat([values[1:], step[name][tf.newaxis]], axis=0)
                for name, values in self._window.items()
            }
            for name, values in window.items():
                self._window[name].assign(values)
            self._seen.assign_add(1)
        rows = n_step_transitions(
            window["reward"],
            window["next_observation"],
            window["terminated"],
            window["truncated"],
            gamma=self.config.gamma,
        )
        rows |= {name: window[name][0] for name in ("observation", "action")}
        self._emit(rows, self._seen >= self.config.steps)

    def _emit(self, rows: Mapping[str, tf.Tensor], complete: tf.Tensor) -> None:
        """Store the rows if their windows are complete; of one shape either way, for XLA."""
        capacity = tf.constant(self.config.capacity, tf.int64)
        count = tf.constant(self.config.environments, tf.int64)
        slots = (self._cursor + tf.range(count)) % capacity
        for name, values in self._storage.items():
            kept = tf.gather(values, slots)
            values.scatter_nd_update(slots[:, tf.newaxis], tf.where(complete, rows[name], kept))
        added = tf.where(complete, count, 0)
        self._cursor.assign((self._cursor + added) % capacity)
        self._size.assign(tf.minimum(self._size + added, capacity))


def n_step_transitions(
    reward: Any, next_observation: Any, terminated: Any, truncated: Any, *, gamma: float
) -> dict[str, Any]:
    require_window(reward, next_observation, terminated, truncated, gamma)
    made = {
        "reward": reward[0],
        "next_observation": next_observation[0],
        "terminated": terminated[0],
        "truncated": truncated[0],
        "steps": tf.ones_like(terminated[0], dtype=tf.int64),
    }
    alive = ~(terminated[0] | truncated[0])
    for k in range(1, reward.shape[0]):
        made["reward"] = tf.where(alive, made["reward"] + gamma**k * reward[k], made["reward"])
        made["steps"] += tf.cast(alive, tf.int64)
        column = tf.reshape(alive, [-1, *[1] * (next_observation.shape.rank - 2)])
        later = {"terminated": terminated[k], "truncated": truncated[k]}
        made |= {name: tf.where(alive, flag, made[name]) for name, flag in later.items()}
        made["next_observation"] = tf.where(column, next_observation[k], made["next_observation"])
        alive &= ~(terminated[k] | truncated[k])
    return made
