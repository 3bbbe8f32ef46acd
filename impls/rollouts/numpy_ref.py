"""Rollouts in NumPy, float64: the forward pass written out, one layer per line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.networks.config import ActorConfig, parameter_shapes, require_dtype, require_names
from impls.rollouts.config import (
    PolicyConfig,
    Transition,
    require_noise,
    require_observation,
)


class Policy:
    def __init__(
        self,
        config: PolicyConfig,
        parameters: Mapping[str, np.ndarray],
        *,
        dtype: str,
        device: str = "cpu",
    ) -> None:
        self.config, self.dtype = config, require_dtype(dtype)
        require_names(parameters, parameter_shapes(config.network))
        self.parameters = {name: np.array(v, dtype) for name, v in parameters.items()}

    def output(self, observation: Any) -> np.ndarray:
        x = require_observation(self.config, observation).astype(self.dtype)
        network = self.config.network
        tanh = not isinstance(network, ActorConfig) and network.activation == "tanh"
        depth = len(self.parameters) // 2
        for i in range(1, depth + 1):
            x = x @ self.parameters[f"l{i}/kernel"] + self.parameters[f"l{i}/bias"]
            if i < depth:
                x = np.tanh(x) if tanh else np.maximum(x, 0.0)
        if isinstance(network, ActorConfig):
            return np.array(network.bounds) * np.tanh(x)
        return x

    def act(self, observation: Any, noise: Any = None) -> np.ndarray:
        draw = require_noise(self.config, noise)
        output = self.output(observation)
        if not isinstance(self.config.network, ActorConfig):
            return np.array(np.argmax(output), np.int64)
        if draw is None:
            return output
        bound = np.array(self.config.network.bounds)
        return np.clip(output + self.config.sigma * bound * draw, -bound, bound)


class Collector:
    def __init__(self, environment: Any, policy: Policy, *, seed: int) -> None:
        self.environment, self.policy, self.seed = environment, policy, seed
        self.episode = -1
        self.observation = self._next_episode()

    def step(self, noise: Any = None, *, action: Any = None) -> Transition:
        seen = self.observation
        applied = self.policy.act(seen, noise) if action is None else action
        following, reward, terminated, truncated, _ = self.environment.step(applied)
        ended = terminated or truncated
        self.observation = self._next_episode() if ended else following
        return Transition(seen, applied, reward, following, terminated, truncated)

    def _next_episode(self) -> np.ndarray:
        self.episode += 1
        return self.environment.reset(seed=self.seed + self.episode)[0]
