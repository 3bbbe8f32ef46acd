"""The seed passed to every reset."""

from __future__ import annotations

import gymnasium
import numpy as np

ID = "seed_at_every_reset"
KIND = "rollout"
SUBJECT = "environment"
TITLE = "The seed passed to every reset"
SYMPTOM = "Every episode starts in the same state"
WHY = "env.seed(s) was called once; reset(seed=s) was put where reset() stood"
CAUSE = "reseeded"
FIX = "Pass the seed to the first reset only"
PLACE = "reset"
OPTIONS = {"steps": 40}


class Walk(gymnasium.Env):
    """A point that drifts until it is further than 2 from the origin."""

    observation_space = gymnasium.spaces.Box(-9, 9, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple:
        super().reset(seed=seed)
        self.place = self.np_random.uniform(-1.0, 1.0, 2)
        return self.place.copy(), {}

    def step(self, action: np.ndarray) -> tuple:
        self.place = self.place + 0.7 * np.asarray(action, np.float64)
        size = float(np.abs(self.place).max())
        return self.place.copy(), -size, size > 2.0, False, {}


class SeededWalk(Walk):
    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple:
        self.first_seed = seed if seed is not None else self.first_seed
        return super().reset(seed=self.first_seed, options=options)


def torch_side() -> gymnasium.Env:
    return Walk()


def tf_buggy() -> gymnasium.Env:
    return SeededWalk()


def tf_fixed() -> gymnasium.Env:
    return Walk()


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"action": np.random.default_rng(seed).uniform(-1, 1, size=(40, 2))}
