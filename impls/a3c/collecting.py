"""What a run of A3C is made of: the plan that all workers share, and one worker's environment."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from impls.a3c.config import A3CConfig
from impls.environments import make_environment
from impls.errors import ConfigError
from parity.backends import get_backend, to_numpy
from parity.component import SIBLINGS
from parity.random import Stream

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Plan:
    """What all workers do.

    Attributes:
        side: ``torch``, ``tf`` or ``reference``.
        config: of the learner.
        env_id: a registered environment of gymnasium that fits the configuration.
        seed: of the run; workers derive their own from it.
        steps: T, of one rollout.
        rounds: pulls, and pushes, of each worker.
        dtype: of the learner.
        max_episode_steps: a shorter time limit than the registered one.
    """

    side: str
    config: A3CConfig
    env_id: str
    seed: int
    steps: int
    rounds: int
    dtype: str = "float64"
    max_episode_steps: int | None = None

    @property
    def impl(self) -> Any:
        """The sibling module of the side."""
        return import_module(f"impls.a3c.{SIBLINGS[self.side]}")

    def make_learner(self) -> Any:
        """A learner of this side."""
        return self.impl.make_learner(self.config, dtype=self.dtype)

    def collector(self, worker: int) -> Collector:
        """The worker's environment, with its own seed."""
        seeds = to_numpy(self.impl.worker_seeds(seed=self.seed, workers=self.config.workers))
        return Collector(self, int(seeds[worker]))

    def collectors(self) -> list[Collector]:
        """One per worker."""
        return [self.collector(worker) for worker in range(self.config.workers)]


class Collector:
    """One environment that goes on from rollout to rollout."""

    def __init__(self, plan: Plan, seed: int) -> None:
        self.plan, self.seed = plan, seed
        self.environment = make_environment(plan.env_id, max_episode_steps=plan.max_episode_steps)
        self._require_fit()
        self.observation = self.environment.reset(seed=seed)[0]
        self._stream = Stream(seed).split("actions")
        self._taken = 0

    def collect(self, local: Any) -> Arrays:
        """T steps with the policy of a worker's learner; fields [T, 1, ...]."""
        rows = [self._step(local) for _ in range(self.plan.steps)]
        return {name: np.stack([row[name] for row in rows])[:, None] for name in rows[0]}

    def close(self) -> None:
        self.environment.close()

    def _require_fit(self) -> None:
        """Refuse an environment that is not of the configuration's sizes."""
        there, config = self.environment, self.plan.config
        found = (there.observation_size, there.action_size, not there.discrete)
        wanted = (config.observation_size, config.action_size, config.continuous)
        if found != wanted:
            names = ("observation_size", "action_size", "continuous")
            shown = [
                f"{n}={w}, not {f}" for n, f, w in zip(names, found, wanted, strict=True) if f != w
            ]
            there.close()
            raise ConfigError(f"config does not fit {self.plan.env_id}: {'; '.join(shown)}")

    def _step(self, local: Any) -> Arrays:
        continuous, size = self.plan.config.continuous, self.plan.config.action_size
        stream = self._stream.fold_in(self._taken)
        self._taken += 1
        draws = (
            {"noise": stream.normal((1, size), dtype="float64")}
            if continuous
            else {"uniform": stream.uniform((1,), dtype="float64")}
        )
        before = self.observation
        tensors = {name: self._tensor(draw) for name, draw in draws.items()}
        made = local.act(self._tensor(before[None]), tensors)
        action = to_numpy(made["action"])[0]
        applied = to_numpy(made["clipped_action"])[0] if continuous else action
        after, reward, terminated, truncated, _ = self.environment.step(applied)
        self.observation = after
        if terminated or truncated:
            self.observation = self.environment.reset()[0]
        return {
            "observation": np.array(before, np.float64),
            "action": np.array(action),
            "reward": np.array(reward, np.float64),
            "next_observation": np.array(after, np.float64),
            "terminated": np.array(terminated),
            "truncated": np.array(truncated),
        }

    def gradients(self, learner: Any, number: int) -> Any:
        """Roll out with what worker ``number`` of a learner holds; the gradients of that."""
        batch = self.collect(learner.workers[number])
        given = {name: self._tensor(array) for name, array in batch.items()}
        return learner.gradients(number, **given)[1]

    def _tensor(self, array: np.ndarray) -> Any:
        dtype = "float64" if self.plan.side == "reference" else self.plan.dtype
        return get_backend(self.plan.side).tensor(array, dtype=dtype)
