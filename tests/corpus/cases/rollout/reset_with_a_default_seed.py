"""A seed as the default of reset."""

from __future__ import annotations

import gymnasium
import numpy as np

ID = "reset_with_a_default_seed"
KIND = "rollout"
SUBJECT = "environment"
TITLE = "A seed as the default of reset"
SYMPTOM = "Every episode starts in the same state, and the agent learns that one start"
WHY = "reset(seed=0) is the default: a reset without a seed is one with this seed"
CAUSE = "reseeded"
FIX = "def reset(self, *, seed=None, options=None)"
PLACE = "reset"
OPTIONS = {"steps": 30}


class Swing(gymnasium.Env):
    """An angle and its speed, pushed by the action."""

    observation_space = gymnasium.spaces.Box(-9, 9, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple:
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-0.5, 0.5, 2)
        self.turn = 0
        return self.state.copy(), {}

    def step(self, action: np.ndarray) -> tuple:
        before = self.state
        speed = before[1] + 0.1 * (float(np.asarray(action)[0]) - np.sin(before[0]))
        self.state = np.array([before[0] + 0.1 * speed, speed])
        self.turn += 1
        return self.state.copy(), self.pay(before), False, self.turn >= 9, {}

    def pay(self, before: np.ndarray) -> float:
        return -float(self.state[0] ** 2 + 0.1 * self.state[1] ** 2)


class DefaultSeed(Swing):
    def reset(self, *, seed: int = 5, options: dict | None = None) -> tuple:
        return super().reset(seed=seed, options=options)


def torch_side() -> gymnasium.Env:
    return Swing()


def tf_buggy() -> gymnasium.Env:
    return DefaultSeed()


def tf_fixed() -> gymnasium.Env:
    return Swing()


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"action": np.random.default_rng(seed).uniform(-1, 1, size=(30, 1))}
