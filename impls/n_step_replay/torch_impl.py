"""n-step replay in PyTorch: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from impls.n_step_replay.config import WINDOW, NStepReplayConfig, require_pending, require_window
from impls.replay_buffer.torch_impl import ReplayBuffer, sample_indices

__all__ = ["NStepReplay", "n_step_transitions", "sample_indices"]


class NStepReplay(ReplayBuffer):
    """A ring of n-step transitions, behind a window of the last n steps of B environments."""

    config: NStepReplayConfig

    def __init__(self, config: NStepReplayConfig, *, dtype: str, device: str = "cpu") -> None:
        super().__init__(config, dtype=dtype, device=device)
        self._of_step = config.step_layout(dtype)
        self._window = {
            name: torch.zeros(
                (config.steps, *shape), dtype=getattr(torch, kind), device=self.device
            )
            for name, (shape, kind) in self._of_step.items()
        }
        self._seen = torch.zeros((), dtype=torch.int64, device=self.device)

    def add(self, step: Mapping[str, Any]) -> None:
        self._push(self._checked(step, batched=False, layout=self._of_step))

    def add_batch(self, steps: Mapping[str, Any]) -> None:
        rows = self._checked(steps, batched=True, layout=self._of_step)
        for t in range(rows["reward"].shape[0]):
            self._push({name: values[t] for name, values in rows.items()})

    def state(self) -> dict[str, Any]:
        pending = {f"{WINDOW}{name}": values.clone() for name, values in self._window.items()}
        return {**super().state(), **pending, "seen": self._seen.clone()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        entries = {name: torch.as_tensor(value) for name, value in state.items()}
        require_pending(entries, self._of_step, self.config.steps)
        pending = {name: entries.pop(f"{WINDOW}{name}") for name in self._window}
        seen = entries.pop("seen")
        super().load_state(entries)
        for name, values in self._window.items():
            values.copy_(pending[name])
        self._seen.copy_(seen)

    def _push(self, step: Mapping[str, torch.Tensor]) -> None:
        """Take one step in; the transition that began n - 1 steps ago is complete then."""
        for name, values in self._window.items():
            values.copy_(torch.cat([values[1:], step[name].unsqueeze(0)]))
        self._seen.add_(1)
        window, count = self._window, self.config.environments
        rows = n_step_transitions(
            window["reward"],
            window["next_observation"],
            window["terminated"],
            window["truncated"],
            gamma=self.config.gamma,
        )
        rows |= {name: window[name][0] for name in ("observation", "action")}
        complete = self._seen >= self.config.steps  # a tensor: nothing waits for the device
        slots = (self._cursor + torch.arange(count, device=self.device)) % self.config.capacity
        for name, values in self._storage.items():
            kept = values.index_select(0, slots)
            values.index_copy_(0, slots, torch.where(complete, rows[name], kept))
        added = complete * count
        self._cursor.copy_((self._cursor + added) % self.config.capacity)
        self._size.copy_((self._size + added).clamp(max=self.config.capacity))


def n_step_transitions(
    reward: Any, next_observation: Any, terminated: Any, truncated: Any, *, gamma: float
) -> dict[str, Any]:
    require_window(reward, next_observation, terminated, truncated, gamma)
    made = {
        "reward": reward[0],
        "next_observation": next_observation[0],
        "terminated": terminated[0],
        "truncated": truncated[0],
        "steps": torch.ones_like(terminated[0], dtype=torch.int64),
    }
    alive = ~(terminated[0] | truncated[0])
    for k in range(1, reward.shape[0]):
        made["reward"] = torch.where(alive, made["reward"] + gamma**k * reward[k], made["reward"])
        made["steps"] = made["steps"] + alive.to(torch.int64)
        column = alive.reshape(-1, *[1] * (next_observation.ndim - 2))
        later = {"terminated": terminated[k], "truncated": truncated[k]}
        made |= {name: torch.where(alive, flag, made[name]) for name, flag in later.items()}
        made["next_observation"] = torch.where(
            column, next_observation[k], made["next_observation"]
        )
        alive = alive & ~(terminated[k] | truncated[k])
    return made
