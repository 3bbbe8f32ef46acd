"""Prioritized replay in PyTorch, with the sum tree as one tensor: see ``spec.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from impls.errors import EmptyBufferError, NonFiniteError
from impls.prioritized_replay.config import (
    PrioritizedReplayConfig,
    require_beta,
    require_priorities,
    require_vector,
)
from impls.replay_buffer.torch_impl import ReplayBuffer


class PrioritizedReplay(ReplayBuffer):
    """A ring buffer with a sum tree: the root is node 1, the children of k are 2k and 2k + 1."""

    config: PrioritizedReplayConfig

    def __init__(self, config: PrioritizedReplayConfig, *, dtype: str, device: str = "cpu") -> None:
        super().__init__(config, dtype=dtype, device=device)
        self._dtype = getattr(torch, dtype)
        self._tree = torch.zeros(2 * config.leaves, dtype=torch.float64, device=device)
        self._highest = torch.ones((), dtype=torch.float64, device=device)

    def draw(self, uniforms: Any) -> Any:
        require_vector("uniforms", uniforms)
        if not torch.compiler.is_compiling() and int(self._size) == 0:
            raise EmptyBufferError("the buffer is empty: add transitions before drawing")
        count = uniforms.shape[0]
        stratum = torch.arange(count, dtype=torch.float64, device=self.device)
        mass = (stratum + uniforms.to(torch.float64)) / count * self._tree[1]
        node = torch.ones(count, dtype=torch.int64, device=self.device)
        for _ in range(self.config.depth):
            left = 2 * node
            below = self._tree[left]
            # a subtree without mass is never entered, whatever rounding left of the mass
            right = (mass >= below) & (self._tree[left + 1] > 0.0)
            mass = torch.where(right, mass - below, mass)
            node = left + right.to(torch.int64)
        return node - self.config.leaves

    def weights(self, indices: Any, beta: Any) -> Any:
        require_beta(beta)
        slots = self._slots(indices)
        leaves = self._tree[self.config.leaves :][: self.config.capacity]
        empty = torch.arange(self.config.capacity, device=self.device) >= self._size
        lowest = leaves.masked_fill(empty, torch.inf).min()
        exponent = -torch.as_tensor(beta, device=self.device).to(torch.float64)
        # (size P)^-beta over the largest such: size and the tree's sum cancel
        return torch.pow(leaves[slots] / lowest, exponent).to(self._dtype)

    def update_priorities(self, indices: Any, td_error: Any) -> None:
        slots = self._slots(indices)
        require_vector("td_error", td_error, slots.shape[0])
        if not torch.compiler.is_compiling():
            _require_finite(td_error)
        magnitude = td_error.detach().to(torch.float64).abs()
        priority = (magnitude + self.config.epsilon) ** self.config.alpha
        self._highest.copy_(torch.cat([self._highest.reshape(1), priority]).max())
        order = torch.arange(slots.shape[0], device=self.device)
        same = slots.unsqueeze(1) == slots.unsqueeze(0)
        # of rows for one slot all write what the last one says: then their order cannot matter
        last = torch.where(same, order, -1).amax(1) if slots.shape[0] else order
        self._set(slots, priority[last])

    def state(self) -> dict[str, Any]:
        leaves = self._tree[self.config.leaves :][: self.config.capacity]
        own = {"priority": leaves.clone(), "max_priority": self._highest.clone()}
        return {**super().state(), **own}

    def load_state(self, state: Mapping[str, Any]) -> None:
        entries = {name: torch.as_tensor(value) for name, value in state.items()}
        require_priorities({n: v.cpu() for n, v in entries.items()}, self.config.capacity)
        priority, highest = entries.pop("priority"), entries.pop("max_priority")
        super().load_state(entries)
        self._set(torch.arange(self.config.capacity, device=self.device), priority.to(self.device))
        self._highest.copy_(highest)

    def _write(self, rows: Mapping[str, torch.Tensor]) -> torch.Tensor:
        slots = super()._write(rows)
        self._set(slots, self._highest.expand(slots.shape))
        return slots

    def _set(self, slots: torch.Tensor, priority: torch.Tensor) -> None:
        """Write leaves, and the sums above them, level by level."""
        node = slots + self.config.leaves
        self._tree.index_copy_(0, node, priority)
        for _ in range(self.config.depth):
            node = node // 2
            self._tree.index_copy_(0, node, self._tree[2 * node] + self._tree[2 * node + 1])


def _require_finite(td_error: torch.Tensor) -> None:
    if not bool(torch.isfinite(td_error).all()):
        position = int(torch.nonzero(~torch.isfinite(td_error))[0])
        raise NonFiniteError(f"td_error holds {td_error[position].item()} at index [{position}]")
