"""A time limit reported as the end of the task."""

from __future__ import annotations

import gymnasium
import numpy as np

ID = "time_limit_terminates"
KIND = "rollout"
SUBJECT = "environment"
TITLE = "A time limit reported as the end of the task"
SYMPTOM = "Values near the limit are too low; observations and rewards agree"
WHY = "The old API had one flag; the port puts the time limit into terminated"
CAUSE = "truncation-as-termination"
FIX = "return observation, reward, terminated, steps >= limit, info"
PLACE = "terminated"


class Slope(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-99, 99, (1,), np.float64)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float64)

    def __init__(self, limit_terminates: bool) -> None:
        self.limit_terminates = limit_terminates

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple:
        super().reset(seed=seed)
        self.height, self.steps = float(self.np_random.uniform()), 0
        return np.array([self.height]), {}

    def step(self, action: np.ndarray) -> tuple:
        self.height += float(action[0])
        self.steps += 1
        over, late = self.height < -4.0, self.steps >= 6
        ended = (over or late, False) if self.limit_terminates else (over, late)
        return np.array([self.height]), self.height, *ended, {}


def torch_side() -> gymnasium.Env:
    return Slope(limit_terminates=False)


def tf_buggy() -> gymnasium.Env:
    return Slope(limit_terminates=True)


def tf_fixed() -> gymnasium.Env:
    return Slope(limit_terminates=False)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"action": np.random.default_rng(seed).uniform(-1, 1, size=(15, 1))}
