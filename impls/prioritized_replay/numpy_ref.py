"""Prioritized replay in NumPy: running sums in place of a tree, one row at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.errors import EmptyBufferError, NonFiniteError
from impls.prioritized_replay.config import (
    PrioritizedReplayConfig,
    require_beta,
    require_priorities,
    require_vector,
)
from impls.replay_buffer import numpy_ref as replay_buffer


class PrioritizedReplay(replay_buffer.ReplayBuffer):
    """A ring buffer with one number per slot."""

    config: PrioritizedReplayConfig

    def __init__(self, config: PrioritizedReplayConfig, *, dtype: str, device: str = "cpu") -> None:
        super().__init__(config, dtype=dtype, device=device)
        self._priority = np.zeros(config.capacity)
        self._highest = 1.0

    def add(self, transition: Mapping[str, Any]) -> None:
        slot = self._added % self.config.capacity
        super().add(transition)
        self._priority[slot] = self._highest

    def draw(self, uniforms: Any) -> Any:
        require_vector("uniforms", uniforms)
        size = int(self.size)
        if size == 0:
            raise EmptyBufferError("the buffer is empty: add transitions before drawing")
        sums = np.cumsum(self._priority[:size])
        found = []
        for j, u in enumerate(uniforms):
            mass = (j + np.float64(u)) / len(uniforms) * sums[-1]
            beyond = [slot for slot in range(size) if sums[slot] > mass]
            found.append(beyond[0] if beyond else size - 1)
        return np.array(found, np.int64)

    def weights(self, indices: Any, beta: Any) -> Any:
        require_beta(beta)
        slots, size = self._slots(indices), int(self.size)
        filled = self._priority[:size]
        probability = filled / filled.sum()
        weight = (size * probability) ** -np.float64(beta)
        return weight[slots] / weight.max()

    def update_priorities(self, indices: Any, td_error: Any) -> None:
        slots = self._slots(indices)
        require_vector("td_error", td_error, len(slots))
        for position, error in enumerate(td_error):
            if not np.isfinite(error):
                raise NonFiniteError(f"td_error holds {error} at index [{position}]")
        for slot, error in zip(slots, td_error, strict=True):
            priority = (abs(np.float64(error)) + self.config.epsilon) ** self.config.alpha
            self._priority[slot] = priority
            self._highest = max(self._highest, priority)

    def state(self) -> dict[str, Any]:
        own = {"priority": self._priority.copy(), "max_priority": np.asarray(self._highest)}
        return {**super().state(), **own}

    def load_state(self, state: Mapping[str, Any]) -> None:
        entries = {name: np.asarray(value) for name, value in state.items()}
        require_priorities(entries, self.config.capacity)
        priority, highest = entries.pop("priority"), entries.pop("max_priority")
        super().load_state(entries)
        self._priority, self._highest = priority.copy(), float(highest)
