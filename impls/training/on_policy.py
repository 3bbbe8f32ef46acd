"""Training from rollouts: REINFORCE, actor-critic, A2C, PPO."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.training.loops import Loop

FIELDS = ("observation", "action", "reward", "next_observation", "terminated", "truncated")


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
        env, count = self.env, self.count
        observation = np.stack([w.observation for w in self.worlds]).astype(np.float32)
        draws = {name: rows[self.acts] for name, rows in self._draws.items()}
        made = self.side.act(observation, draws)
        self.acts += 1
        shown = made.get("clipped_action", made["action"])
        out: dict[str, np.ndarray] = {
            "observation": np.zeros_like(observation),
            "action": np.zeros_like(made["action"]),
            "reward": np.zeros(count, np.float32),
            "next_observation": np.zeros((count, env.observation_size), np.float32),
            "terminated": np.zeros(count, bool),
            "truncated": np.zeros(count, bool),
        }
        if self.chosen.name == "ppo":
            out["log_prob"] = np.zeros_like(made["log_prob"])
        for i in running:
            before, reward, after, terminated, truncated = self.take(i, shown[i])
            values = (before, made["action"][i], reward, after, terminated, truncated)
            for name, value in zip(FIELDS, values, strict=True):
                out[name][i] = value
            if "log_prob" in out:
                out["log_prob"][i] = made["log_prob"][i]
            self.step += 1
        return out

    def _permutations(self, rows: int) -> np.ndarray:
        key = self.stream.split("minibatches").fold_in(self.updates)
        return np.stack([key.fold_in(e).permutation(rows) for e in range(self.config.epochs)])

    def state(self) -> dict[str, np.ndarray]:
        return {**super().state(), "loop/acts": np.array(self.acts, np.int64)}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        super().load_state(state)
        self.acts = int(state["loop/acts"])
