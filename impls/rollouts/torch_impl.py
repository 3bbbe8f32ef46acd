"""Rollouts in PyTorch: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from impls.networks import torch_impl as networks
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
        self.config = config
        self.dtype, self.device = getattr(torch, dtype), device
        make = networks.make_mlp if config.greedy else networks.make_actor
        self.network = make(config.network, dtype=dtype, device=device)
        networks.load_parameters(self.network, parameters)

    @torch.no_grad()
    def output(self, observation: Any) -> torch.Tensor:
        row = self._tensor(require_observation(self.config, observation))
        return self.network(row.unsqueeze(0)).squeeze(0)

    @torch.no_grad()
    def act(self, observation: Any, noise: Any = None) -> torch.Tensor:
        draw = require_noise(self.config, noise)
        output = self.output(observation)
        if self.config.greedy:
            return torch.argmax(output)
        if draw is None:
            return output
        bound = self.network.max_action
        action = output + self.config.sigma * bound * self._tensor(draw)
        return torch.clamp(action, -bound, bound)

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        return torch.tensor(array, dtype=self.dtype, device=self.device)


class Collector:
    def __init__(self, environment: Any, policy: Policy, *, seed: int) -> None:
        self.environment, self.policy, self.seed = environment, policy, seed
        self.episode = 0
        self.observation = self._reset()

    def step(self, noise: Any = None, *, action: Any = None) -> Transition:
        if action is None:
            action = self.policy.act(self.observation, noise).cpu().numpy()
        following, reward, terminated, truncated, _ = self.environment.step(action)
        transition = Transition(self.observation, action, reward, following, terminated, truncated)
        self.observation = following
        if terminated or truncated:
            self.episode += 1
            self.observation = self._reset()
        return transition

    def _reset(self) -> np.ndarray:
        return self.environment.reset(seed=self.seed + self.episode)[0]
