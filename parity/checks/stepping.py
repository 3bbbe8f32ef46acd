"""The loop that steps an environment with a policy, and what is seen when a loop is watched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from parity.backends import to_numpy

NO_SEED = -1
"""Stands for ``reset()`` without a seed."""


class Transition(NamedTuple):
    """One step, as it would be stored for learning.

    ``next_observation`` is what the environment answered, also where the episode ends there.
    """

    observation: Any
    action: Any
    reward: Any
    next_observation: Any
    terminated: Any
    truncated: Any


class Stepper:
    """The harness's own loop: steps an environment and begins the next episode at an end.

    Episode ``k`` begins with ``reset(seed=seed + k)``.
    """

    def __init__(self, environment: Any, policy: Any, *, seed: int) -> None:
        self.environment, self.policy, self.seed = environment, policy, seed
        self.episode = 0
        self.observation: Any = environment.reset(seed=seed)[0]

    def step(self, noise: Any = None, *, action: Any = None) -> Transition:
        """One step with the given action, or with the policy's."""
        if action is None:
            action = to_numpy(self.policy.act(self.observation, noise))
        following, reward, terminated, truncated, _ = self.environment.step(action)
        transition = Transition(self.observation, action, reward, following, terminated, truncated)
        self.observation = following
        if terminated or truncated:
            self.episode += 1
            self.observation = self.environment.reset(seed=self.seed + self.episode)[0]
        return transition


@dataclass
class WatchedEnvironment:
    """Passes everything on, and keeps what was asked of the environment and what it answered.

    Attributes:
        seed: of the last reset.
        applied: the last action.
        answers: the last ``observation``, and those of the last step: ``reward``, ``terminated``,
            ``truncated``, ``next_observation``.
    """

    environment: Any
    read_random_state: Callable[[Any], np.ndarray] | None = None
    seed: int = NO_SEED
    applied: Any = None
    answers: dict[str, np.ndarray] = field(default_factory=dict)

    def random_state(self) -> np.ndarray | None:
        """The state of the environment's random generator, where it can be read."""
        read = self.read_random_state
        return None if read is None else read(self.environment)

    def close(self) -> None:
        """Close the environment, where it can be closed."""
        if hasattr(self.environment, "close"):
            self.environment.close()

    def reset(self, *, seed: int | None = None, **options: Any) -> Any:
        self.seed = NO_SEED if seed is None else seed
        result = self.environment.reset(seed=seed, **options)
        self.answers["observation"] = np.array(result[0])
        return result

    def step(self, action: Any) -> Any:
        self.applied = np.array(to_numpy(action))
        result = self.environment.step(action)
        observation, reward, terminated, truncated, _ = result
        self.answers.update(
            observation=np.array(observation),
            next_observation=np.array(observation),
            reward=np.asarray(reward),
            terminated=np.asarray(terminated),
            truncated=np.asarray(truncated),
        )
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["environment"], name)


@dataclass
class WatchedPolicy:
    """Passes everything on, and keeps the last action that the policy answered."""

    policy: Any
    action: np.ndarray | None = None

    def act(self, observation: Any, noise: Any = None) -> Any:
        action = self.policy.act(observation, noise)
        self.action = np.array(to_numpy(action))
        return action

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["policy"], name)
