"""n-step replay in NumPy: one environment and one window at a time, see ``spec.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.n_step_replay.config import WINDOW, NStepReplayConfig, require_pending, require_window
from impls.replay_buffer import numpy_ref as replay_buffer
from impls.replay_buffer.numpy_ref import sample_indices

__all__ = ["NStepReplay", "n_step_transitions", "sample_indices"]

Rows = dict[str, np.ndarray]


class NStepReplay(replay_buffer.ReplayBuffer):
    """Keeps a list of steps; a transition is made as soon as the n steps from its own on are in."""

    config: NStepReplayConfig

    def __init__(self, config: NStepReplayConfig, *, dtype: str, device: str = "cpu") -> None:
        super().__init__(config, dtype=dtype, device=device)
        self._of_step = config.step_layout(dtype)
        self._pending: list[Rows] = []
        self._seen = 0

    def add(self, step: Mapping[str, Any]) -> None:
        self._take(replay_buffer._checked(step, self._of_step, batched=False))

    def add_batch(self, steps: Mapping[str, Any]) -> None:
        rows = replay_buffer._checked(steps, self._of_step, batched=True)
        for t in range(len(rows["reward"])):
            self._take({name: values[t].copy() for name, values in rows.items()})

    def state(self) -> dict[str, Any]:
        missing = self.config.steps - len(self._pending)
        blank = {n: np.zeros(shape, kind) for n, (shape, kind) in self._of_step.items()}
        steps = [blank] * missing + self._pending
        pending = {f"{WINDOW}{n}": np.stack([step[n] for step in steps]) for n in self._of_step}
        return {**super().state(), **pending, "seen": np.asarray(self._seen, np.int64)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        entries = {name: np.asarray(value) for name, value in state.items()}
        require_pending(entries, self._of_step, self.config.steps)
        pending = {name: entries.pop(f"{WINDOW}{name}").copy() for name in self._of_step}
        seen = int(entries.pop("seen"))
        super().load_state(entries)
        steps = [{n: v[k] for n, v in pending.items()} for k in range(self.config.steps)]
        self._pending = steps[max(self.config.steps - seen, 0) :]
        self._seen = seen

    def _take(self, step: Rows) -> None:
        n = self.config.steps
        self._pending = [*self._pending, {k: np.array(v) for k, v in step.items()}][-n:]
        self._seen += 1
        if len(self._pending) < n:
            return
        window = {name: np.stack([s[name] for s in self._pending]) for name in step}
        first = {name: window.pop(name)[0] for name in ("observation", "action")}
        made = n_step_transitions(**window, gamma=self.config.gamma)
        rows = {name: (first | made)[name] for name in self._layout}
        for b in range(self.config.environments):
            row = {name: values[b] for name, values in rows.items()}
            super().add({n: v.astype(self._layout[n][1]) for n, v in row.items()})


def n_step_transitions(
    reward: Any, next_observation: Any, terminated: Any, truncated: Any, *, gamma: float
) -> dict[str, Any]:
    require_window(reward, next_observation, terminated, truncated, gamma)
    n, environments = reward.shape
    made: dict[str, list[Any]] = {"reward": [], "last": [], "steps": []}
    for b in range(environments):
        ends = [k for k in range(n) if terminated[k, b] or truncated[k, b]]
        last = ends[0] if ends else n - 1
        made["reward"].append(sum(gamma**k * np.float64(reward[k, b]) for k in range(last + 1)))
        made["last"].append(last)
        made["steps"].append(last + 1)
    last, every = np.array(made["last"]), np.arange(environments)
    return {
        "reward": np.array(made["reward"], np.float64),
        "next_observation": next_observation[last, every],
        "terminated": terminated[last, every],
        "truncated": truncated[last, every],
        "steps": np.array(made["steps"], np.int64),
    }
