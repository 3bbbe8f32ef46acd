"""Environments that can be put back to any moment: begun from own seeds, actions written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.environments import make_environment
from parity.random import Stream

Step = tuple[np.ndarray, float, np.ndarray, bool, bool]


class World:
    """One environment with its running episode.

    Episode k of environment i begins with a seed of its own, ``key.fold_in(i).fold_in(k)``, so its
    state follows from the actions taken since: that is what is saved, and replayed on loading. No
    simulator needs to support saving.

    Attributes:
        observation: what the environment shows now.
        episode: number of the running episode, counted from 0.
        score: its sum of rewards so far.
    """

    def __init__(self, env_id: str, key: Stream, index: int) -> None:
        self.env = make_environment(env_id)
        self.key = key.fold_in(index)
        self.episode = 0
        self._begin()

    def step(self, action: Any) -> Step:
        """Take an action; begins the next episode where this one ends.

        Returns:
            The observation before, the reward, the observation after (the last one of its episode
            where that ended), terminated, truncated.
        """
        before = self.observation
        after, reward, terminated, truncated, _ = self.env.step(action)
        self.actions.append(np.array(action))
        self.score += reward
        self.observation = after
        if terminated or truncated:
            self.finished = self.score
            self.episode += 1
            self._begin()
        return before, reward, after, terminated, truncated

    def _begin(self) -> None:
        seed = self.key.fold_in(self.episode).environment_seed()
        self.observation, _ = self.env.reset(seed=seed)
        self.actions: list[np.ndarray] = []
        self.score = 0.0

    def begin(self, key: Stream) -> None:
        """Give up the running episode and begin the first one of another key."""
        self.key, self.episode = key, 0
        self._begin()

    def state(self) -> dict[str, np.ndarray]:
        kind = np.int64 if self.env.discrete else np.float64
        shape = () if self.env.discrete else (self.env.action_size,)
        actions = np.array(self.actions, kind).reshape(-1, *shape)
        return {"episode": np.array(self.episode, np.int64), "actions": actions}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.episode = int(state["episode"])
        self._begin()
        for action in state["actions"]:
            after, reward, *_ = self.env.step(action)
            self.actions.append(np.array(action))
            self.score += reward
            self.observation = after

    def close(self) -> None:
        self.env.close()


class Draws:
    """Rows of random numbers by count: row t is the same whoever asks, and whenever.

    Drawn in blocks, since a draw from a stream takes as long for a thousand numbers as for one.
    """

    BLOCK = 256

    def __init__(self, key: Stream, shape: tuple[int, ...], kind: str, high: int = 0) -> None:
        self.key, self.shape, self.kind, self.high = key, shape, kind, high
        self._block = -1
        self._rows = np.empty(0)

    def __getitem__(self, count: int) -> np.ndarray:
        block, row = divmod(count, self.BLOCK)
        if block != self._block:
            key, shape = self.key.fold_in(block), (self.BLOCK, *self.shape)
            if self.kind == "integers":
                self._rows = key.integers(shape, 0, self.high)
            else:
                self._rows = getattr(key, self.kind)(shape)
            self._block = block
        found: np.ndarray = self._rows[row]
        return found
