"""The same environment twice."""

from __future__ import annotations

import gymnasium
import numpy as np

ID = "same_environment"
KIND = "control"
SUBJECT = "environment"
TITLE = "The same environment twice"
WHY = "Seeded alike and driven by the same actions, both copies take the same path, resets included"


def torch_side() -> gymnasium.Env:
    return gymnasium.make("CartPole-v1")


def tf_fixed() -> gymnasium.Env:
    return gymnasium.make("CartPole-v1")


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"action": np.random.default_rng(seed).integers(0, 2, size=60)}
