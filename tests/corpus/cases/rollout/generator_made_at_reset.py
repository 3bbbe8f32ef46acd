"""A new generator at each reset without a seed."""

from __future__ import annotations

import gymnasium
import numpy as np

ID = "generator_made_at_reset"
KIND = "rollout"
SUBJECT = "environment"
TITLE = "A new generator at each reset without a seed"
SYMPTOM = "Two runs from one seed agree in the first episode only"
WHY = "np.random.default_rng(seed) stands in reset: without a seed it draws from the system"
CAUSE = "environment-seed"
FIX = "Make the generator where a seed is given, and go on with it otherwise"
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


class NewGenerator(Swing):
    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple:
        if seed is None:
            self.np_random = np.random.default_rng()
        return super().reset(seed=seed, options=options)


def torch_side() -> gymnasium.Env:
    return Swing()


def tf_buggy() -> gymnasium.Env:
    return NewGenerator()


def tf_fixed() -> gymnasium.Env:
    return Swing()


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"action": np.random.default_rng(seed).uniform(-1, 1, size=(30, 1))}
