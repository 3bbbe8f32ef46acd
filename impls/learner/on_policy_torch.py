"""What learners from rollouts have in common in PyTorch: see ``on_policy.py`` and ``spec.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from impls.actor_critic_network import torch_impl as actor_critic_network
from impls.learner.config import Layouts, require_group
from impls.learner.on_policy import (
    GROUP,
    GROUPS,
    OnPolicyConfig,
    initial_state,
    require_rollout,
    rollout_layout,
)
from impls.learner.torch_impl import Learner
from impls.optimizers import torch_impl as optimizers
from impls.policies import torch_impl as policies

Tensors = dict[str, Tensor]


class OnPolicyLearner(Learner):
    """One network, one optimizer, batches ``[T, B, ...]``."""

    def __init__(
        self, config: OnPolicyConfig, *, dtype: str, device: str, variant: str, **fields: str
    ) -> None:
        super().__init__(dtype=dtype, device=device, variant=variant)
        self.config: Any = config
        make = actor_critic_network.make_actor_critic
        self.add(GROUP, make, config.network, config.optimizer_config, target=False)
        self.network: Any = self.networks[GROUP]
        self.load_state(initial_state(config, np.random.default_rng(0)))
        self._layouts: Layouts = {"batch": rollout_layout(config, dtype, **fields), "draws": {}}
        self._bounds = torch.tensor(config.bounds, dtype=getattr(torch, dtype), device=device)

    def act(self, observation: Tensor, draws: Mapping[str, Tensor]) -> Tensors:
        with torch.no_grad():
            made = self.network.policy(observation)
            if not self.config.continuous:
                found = {"action": policies.categorical_sample(made["logits"], draws["uniform"])}
            else:
                action = policies.gaussian_sample(made["mean"], made["log_std"], draws["noise"])
                found = {"action": action, "clipped_action": self._clipped(action)}
            if "log_prob" in self._layouts["batch"]:
                found["log_prob"] = self.log_prob(made, found["action"])
            return found

    def greedy(self, observation: Tensor) -> Tensor:
        with torch.no_grad():
            made = self.network.policy(observation)
            if self.config.continuous:
                return self._clipped(policies.gaussian_mode(made["mean"]))
            mode: Tensor = policies.categorical_mode(made["logits"])
            return mode

    def log_prob(self, made: Mapping[str, Tensor], action: Tensor) -> Tensor:
        """Of the actions, under the policy that the network has made."""
        if self.config.continuous:
            density: Tensor = policies.gaussian_log_prob(made["mean"], made["log_std"], action)
            return density
        log_prob: Tensor = policies.categorical_log_prob(made["logits"], action)
        return log_prob

    def entropy(self, made: Mapping[str, Tensor]) -> Tensor:
        """Per row; a scalar where ``log_std`` is the same for all rows."""
        if self.config.continuous:
            shared: Tensor = policies.gaussian_entropy(made["log_std"])
            return shared
        entropy: Tensor = policies.categorical_entropy(made["logits"])
        return entropy

    def state_values(self, observation: Tensor) -> Tensor:
        """[T, B, obs] -> [T, B]; no gradient."""
        with torch.no_grad():
            values: Tensor = self.network.state_value(observation.flatten(0, 1))
            return values.reshape(observation.shape[:2])

    def clip(self, gradients: Mapping[str, Tensor]) -> tuple[Tensors, Tensor]:
        assert self.config.max_gradient_norm is not None
        return optimizers.clip_by_global_norm(gradients, self.config.max_gradient_norm)

    def apply(self, gradients: Mapping[str, Tensor]) -> None:
        self.optimizers[GROUP].apply(gradients)

    def set_learning_rate(self, group: str, value: float) -> None:
        require_group(group, GROUPS)
        self.optimizers[group].set_learning_rate(value)

    def require_batch(self, batch: Mapping[str, Tensor], draws: Mapping[str, Tensor]) -> None:
        """Refuse a rollout and draws that do not fit."""
        self.require(batch, draws, self._layouts, self.config.check_finite, require_rollout)

    def _clipped(self, action: Tensor) -> Tensor:
        return torch.maximum(torch.minimum(action, self._bounds), -self._bounds)
