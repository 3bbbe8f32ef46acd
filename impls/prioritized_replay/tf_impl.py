"""Prioritized replay in TensorFlow, with the sum tree as one variable: see ``spec.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from impls.errors import EmptyBufferError, NonFiniteError
from impls.prioritized_replay.config import (
    PrioritizedReplayConfig,
    require_beta,
    require_priorities,
    require_vector,
)
from impls.replay_buffer.tf_impl import ReplayBuffer


class PrioritizedReplay(ReplayBuffer):
    """A ring buffer with a sum tree: the root is node 1, the children of k are 2k and 2k + 1."""

    config: PrioritizedReplayConfig

    def __init__(self, config: PrioritizedReplayConfig, *, dtype: str, device: str = "cpu") -> None:
        super().__init__(config, dtype=dtype, device=device)
        self._dtype = dtype
        with tf.device(self.device):
            self._tree = tf.Variable(tf.zeros(2 * config.leaves, tf.float64), trainable=False)
            self._highest = tf.Variable(1.0, dtype=tf.float64, trainable=False)

    def draw(self, uniforms: Any) -> Any:
        require_vector("uniforms", uniforms)
        if tf.executing_eagerly() and int(self._size) == 0:
            raise EmptyBufferError("the buffer is empty: add transitions before drawing")
        count = tf.shape(uniforms)[0]
        stratum = tf.cast(tf.range(count), tf.float64)
        mass = (stratum + tf.cast(uniforms, tf.float64)) / tf.cast(count, tf.float64)
        mass *= self._tree[1]
        node = tf.ones([count], tf.int64)
        for _ in range(self.config.depth):
            left = 2 * node
            below = tf.gather(self._tree, left)
            # a subtree without mass is never entered, whatever rounding left of the mass
            right = (mass >= below) & (tf.gather(self._tree, left + 1) > 0.0)
            mass = tf.where(right, mass - below, mass)
            node = left + tf.cast(right, tf.int64)
        return node - self.config.leaves

    def weights(self, indices: Any, beta: Any) -> Any:
        require_beta(beta)
        slots = self._slots(indices)
        leaves = self._leaves()
        empty = tf.range(self.config.capacity, dtype=tf.int64) >= self._size
        lowest = tf.reduce_min(tf.where(empty, leaves.dtype.max, leaves))
        exponent = -tf.cast(beta, tf.float64)
        # (size P)^-beta over the largest such: size and the tree's sum cancel
        return tf.cast(tf.pow(tf.gather(leaves, slots) / lowest, exponent), self._dtype)

    def update_priorities(self, indices: Any, td_error: Any) -> None:
        slots = self._slots(indices)
        require_vector("td_error", td_error, slots.shape[0])
        magnitude = tf.abs(tf.cast(_require_finite(td_error), tf.float64))
        priority = (magnitude + self.config.epsilon) ** self.config.alpha
        self._highest.assign(tf.reduce_max(tf.concat([self._highest[tf.newaxis], priority], 0)))
        order = tf.range(tf.shape(slots)[0])
        same = slots[:, tf.newaxis] == slots[tf.newaxis, :]
        # of rows for one slot all write what the last one says: then their order cannot matter
        last = tf.maximum(tf.reduce_max(tf.where(same, order[tf.newaxis, :], -1), axis=1), 0)
        self._set(slots, tf.gather(priority, last))

    def state(self) -> dict[str, Any]:
        own = {"priority": self._leaves(), "max_priority": tf.identity(self._highest)}
        return {**super().state(), **own}

    def load_state(self, state: Mapping[str, Any]) -> None:
        entries = {name: tf.convert_to_tensor(value) for name, value in state.items()}
        require_priorities(entries, self.config.capacity)
        priority, highest = entries.pop("priority"), entries.pop("max_priority")
        super().load_state(entries)
        self._set(tf.range(self.config.capacity, dtype=tf.int64), priority)
        self._highest.assign(highest)

    def _write(self, rows: Mapping[str, tf.Tensor]) -> tf.Tensor:
        slots = super()._write(rows)
        self._set(slots, tf.fill(tf.shape(slots), self._highest))
        return slots

    def _set(self, slots: tf.Tensor, priority: tf.Tensor) -> None:
        """Write leaves, and the sums above them, level by level."""
        node = slots + self.config.leaves
        self._tree.scatter_nd_update(node[:, tf.newaxis], priority)
        for _ in range(self.config.depth):
            node //= 2
            total = tf.gather(self._tree, 2 * node) + tf.gather(self._tree, 2 * node + 1)
            self._tree.scatter_nd_update(node[:, tf.newaxis], total)

    def _leaves(self) -> tf.Tensor:
        """A copy of the priorities of all slots."""
        first = self.config.leaves
        return tf.identity(self._tree[first : first + self.config.capacity])


def _require_finite(td_error: tf.Tensor) -> tf.Tensor:
    if not tf.executing_eagerly():
        return tf.debugging.check_numerics(td_error, "td_error is not finite")
    finite = tf.math.is_finite(td_error)
    if not bool(tf.reduce_all(finite)):
        position = int(tf.where(~finite)[0, 0])
        raise NonFiniteError(f"td_error holds {float(td_error[position])} at index [{position}]")
    return td_error
