"""Training from rollouts: REINFORCE, actor-critic, A2C, PPO."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.training.loops import Loop


class OnPolicyLoop(Loop):
    """One rollout of every environment at a time, and the update that it is made for."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.count = len(self.worlds)
        self.acts = 0
        self._draws = self.act_draws(self.count)
        limit = self.env.env.spec.max_episode_steps if self.chosen.episodes else None
        self.length = int(limit or self.loop.rollout)

    def advance(self) -> Mapping[str, Any]:
        batch = self._episodes() if self.chosen.episodes else self._rollout(self.length)
        batch["reward"] = batch["reward"] * np.float32(self.loop.reward_scale)
        draws = {}
        if "permutation" in self.chosen.draws:
            draws["permutation"] = self._permutations(batch["reward"].size)
        return self.learn(self.side.tensors(batch), self.side.tensors(draws))

    def _rollout(self, length: int) -> dict[str, np.ndarray]:
        steps = [self._step(range(self.count)) for _ in range(length)]
        return {name: np.stack([s[name] for s in steps]) for name in steps[0]}

    def _episodes(self) -> dict[str, np.ndarray]:
        """One whole episode of each environment, padded with zeros to the time limit."""
        running = list(range(self.count))
        steps, valid = [], []
        while running:
            alive = np.isin(np.arange(self.count), running)
            step = self._step(running)
            steps.append(step)
            valid.append(alive)
            ended = step["terminated"] | step["truncated"]
            running = [i for i in running if not ended[i]]
        pad = self.length - len(steps)
        batch = {}
        for name in steps[0]:
            stacked = np.stack([s[name] for s in steps])
            batch[name] = np.concatenate(
                [stacked, np.zeros((pad, *stacked.shape[1:]), stacked.dtype)]
            )
        batch["valid"] = np.concatenate([np.stack(valid), np.zeros((pad, self.count), bool)])
        batch.pop("log_prob", None)
        return batch

    def _step(self, running: Any) -> dict[str, np.ndarray]:
        """One step of the environments that run; the others' entries are zero."""
        observation = np.stack([w.observation for w in self.worlds]).astype(np.float32)
        draws = {name: rows[self.acts] for name, rows in self._draws.items()}
        made = self.side.act(observation, draws)
        self.acts += 1
        shown = made.get("clipped_action", made["action"])
        rows = [self.take(i, shown[i]) for i in running]
        self.step += len(rows)
        out = {
            "observation": observation,
            "action": made["action"],
            "reward": np.array([r[1] for r in rows], np.float32),
            "next_observation": np.array([r[2] for r in rows], np.float32),
            "terminated": np.array([r[3] for r in rows]),
            "truncated": np.array([r[4] for r in rows]),
        }
        if self.chosen.name == "ppo":
            out["log_prob"] = made["log_prob"]
        return out if len(rows) == self.count else self._spread(out, list(running))

    def _spread(self, rows: dict[str, np.ndarray], running: list[int]) -> dict[str, np.ndarray]:
        """Zeros for the environments that do not run."""
        whole = {}
        for name, values in rows.items():
            whole[name] = np.zeros((self.count, *values.shape[1:]), values.dtype)
            whole[name][running] = values[running] if len(values) == self.count else values
        return whole

    def _permutations(self, rows: int) -> np.ndarray:
        key = self.stream.split("minibatches").fold_in(self.updates)
        return np.stack([key.fold_in(e).permutation(rows) for e in range(self.config.epochs)])

    def state(self) -> dict[str, np.ndarray]:
        return {**super().state(), "loop/acts": np.array(self.acts, np.int64)}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        super().load_state(state)
        self.acts = int(state["loop/acts"])
