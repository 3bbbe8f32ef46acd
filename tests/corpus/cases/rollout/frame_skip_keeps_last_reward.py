"""Rewards of skipped frames lost."""

from __future__ import annotations

import gymnasium
import numpy as np

ID = "frame_skip_keeps_last_reward"
KIND = "rollout"
SUBJECT = "environment"
TITLE = "Rewards of skipped frames lost"
SYMPTOM = "Returns are a third of what they were, in the same states"
WHY = "The wrapper returns the last frame's reward instead of the sum"
CAUSE = "environment-setting|reward-scale"
FIX = "total += reward in the loop, and return total"
PLACE = "reward"


class Spring(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-9, 9, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple:
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-1.0, 1.0, 2)
        return self.state.copy(), {}

    def step(self, action: np.ndarray) -> tuple:
        place, speed = self.state
        speed = speed + 0.1 * (float(action[0]) - place)
        self.state = np.array([place + 0.1 * speed, speed])
        return self.state.copy(), -float(place**2), False, False, {}


class Skip(gymnasium.Wrapper):
    def __init__(self, env: gymnasium.Env, summed: bool) -> None:
        super().__init__(env)
        self.summed = summed

    def step(self, action: np.ndarray) -> tuple:
        total = 0.0
        for _ in range(3):
            observation, reward, terminated, truncated, info = self.env.step(action)
            total = total + reward if self.summed else reward
        return observation, total, terminated, truncated, info


def torch_side() -> gymnasium.Env:
    return Skip(Spring(), summed=True)


def tf_buggy() -> gymnasium.Env:
    return Skip(Spring(), summed=False)


def tf_fixed() -> gymnasium.Env:
    return Skip(Spring(), summed=True)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"action": np.random.default_rng(seed).uniform(-1, 1, size=(12, 1))}
