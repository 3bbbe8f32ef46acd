"""Actions in [-1, 1] sent to an environment that wants [-3, 3]."""

from __future__ import annotations

import gymnasium
import numpy as np

ID = "action_not_rescaled"
KIND = "rollout"
SUBJECT = "environment"
TITLE = "Actions in [-1, 1] sent to an environment that wants [-3, 3]"
SYMPTOM = "The agent seems too weak; it never uses two thirds of its range"
WHY = "The rescaling wrapper of the torch code was not ported"
CAUSE = "wrapper-missing|action-scale"
FIX = "gymnasium.wrappers.RescaleAction(env, -1.0, 1.0)"
PLACE = "observation"


class Pusher(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-99, 99, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-3.0, 3.0, (2,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple:
        super().reset(seed=seed)
        self.place = self.np_random.uniform(-1.0, 1.0, 2)
        return self.place.copy(), {}

    def step(self, action: np.ndarray) -> tuple:
        self.place = self.place + 0.1 * np.clip(action, -3.0, 3.0)
        return self.place.copy(), -float(np.abs(self.place).sum()), False, False, {}


class Rescaled(gymnasium.ActionWrapper):
    def action(self, action: np.ndarray) -> np.ndarray:
        return 3.0 * np.asarray(action)


def torch_side() -> gymnasium.Env:
    return Rescaled(Pusher())


def tf_buggy() -> gymnasium.Env:
    return Pusher()


def tf_fixed() -> gymnasium.Env:
    return Rescaled(Pusher())


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"action": np.random.default_rng(seed).uniform(-1, 1, size=(10, 2))}
