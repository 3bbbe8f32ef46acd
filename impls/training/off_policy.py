"""Training from a replay buffer: DDPG, TD3, SAC, DQN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.replay_buffer.config import ReplayBufferConfig
from impls.training.loops import Loop, below
from impls.training.worlds import Draws


class OffPolicyLoop(Loop):
    """One step of every environment at a time; updates once enough has been seen."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        env, loop = self.env, self.loop
        self.count = len(self.worlds)
        shape = () if env.discrete else (env.action_size,)
        self.capacity = min(loop.capacity, loop.steps + self.count)
        self.buffer = self.make_buffer(
            ReplayBufferConfig(
                self.capacity,
                (env.observation_size,),
                shape,
                "int64" if env.discrete else None,
            )
        )
        self.stored = 0
        self._act = self.act_draws(self.count)
        first = self.stream.split("first-actions")
        self._first = (
            Draws(first, (self.count,), "integers", env.action_size)
            if env.discrete
            else Draws(first, (self.count, env.action_size), "uniform")
        )
        self._indices = Draws(self.stream.split("replay"), (loop.batch_size,), "uniform")
        rows = (loop.batch_size, *shape)
        self._draws = {
            name: Draws(self.stream.split(f"update-{name}"), rows, "normal")
            for name in self.chosen.draws
        }

    def make_buffer(self, config: ReplayBufferConfig) -> Any:
        """What transitions are kept in."""
        return self.side.buffer(config)

    def advance(self) -> Mapping[str, Any]:
        loop, count = self.loop, self.step // self.count
        observation = np.stack([w.observation for w in self.worlds]).astype(np.float32)
        action = self._action(observation, count)
        rows = [self.take(i, action[i]) for i in range(self.count)]
        stored = {
            "observation": observation,
            "action": action if self.env.discrete else action.astype(np.float32),
            "reward": np.array([r[1] for r in rows], np.float32) * np.float32(loop.reward_scale),
            "next_observation": np.stack([r[2] for r in rows]).astype(np.float32),
            "terminated": np.array([r[3] for r in rows]),
            "truncated": np.array([r[4] for r in rows]),
        }
        self.buffer.add(stored)
        self.step += self.count
        self.stored = min(self.stored + self.count, self.capacity)
        made: Mapping[str, Any] = {}
        due = (count + 1) % loop.train_every == 0
        if self.step >= max(loop.learning_starts, loop.batch_size) and due:
            for _ in range(loop.updates):
                made = self._update()
        return made

    def _action(self, observation: np.ndarray, count: int) -> np.ndarray:
        loop, env = self.loop, self.env
        if self.step < loop.learning_starts:
            drawn = self._first[count]
            if env.discrete:
                return drawn
            low, high = env.low.astype(np.float32), env.high.astype(np.float32)
            return np.asarray(low + drawn * (high - low), np.float32)
        draws = {name: rows[count] for name, rows in self._act.items()}
        if self.chosen.name == "dqn":
            share = min(self.step / loop.epsilon_steps, 1.0)
            draws["epsilon"] = np.array(1.0 + (loop.epsilon_end - 1.0) * share, np.float32)
        return self.side.act(observation, draws)["action"]

    def _update(self) -> Mapping[str, Any]:
        t = self.updates
        watched = self.on_update != self.side.update  # then somebody wants to see the batch
        sample = self.buffer.sample if watched else self.buffer.later
        batch = sample(slots(self._indices[t], self.stored))
        draws = self.side.tensors({name: rows[t] for name, rows in self._draws.items()})
        return self.learn(batch, draws)

    def state(self) -> dict[str, np.ndarray]:
        held = {n: np.asarray(v)[: self.stored] if np.ndim(v) else np.asarray(v)
                for n, v in self.buffer.state().items()}  # fmt: skip
        return {**super().state(), **{f"buffer/{n}": v for n, v in held.items()}}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        super().load_state(state)
        held, whole = below("buffer/", state), {}
        for name, value in self.buffer.state().items():
            full = np.zeros(np.shape(value), np.asarray(value).dtype)
            full[() if full.ndim == 0 else slice(len(held[name]))] = held[name]
            whole[name] = full
        self.buffer.load_state(whole)
        self.stored = int(held["size"])


def slots(drawn: np.ndarray, stored: int) -> np.ndarray:
    """Uniform numbers of [0, 1) as slots of [0, stored)."""
    return np.minimum((drawn.astype(np.float64) * stored).astype(np.int64), stored - 1)
