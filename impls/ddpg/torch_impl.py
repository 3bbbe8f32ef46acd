"""DDPG in PyTorch: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from impls.ddpg.config import GROUPS, DDPGConfig, initial_state
from impls.learner.config import Layouts, require_group, transition_layout
from impls.learner.torch_impl import Learner
from impls.losses import torch_impl as losses
from impls.networks import torch_impl as networks
from impls.optimizers import torch_impl as optimizers
from impls.optimizers.config import AdamConfig
from impls.returns import torch_impl as returns

Tensors = dict[str, Tensor]


class DDPG(Learner):
    def __init__(
        self, config: DDPGConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        super().__init__(dtype=dtype, device=device, variant=variant)
        self.config = config
        critic = AdamConfig(config.critic_learning_rate, weight_decay=config.critic_weight_decay)
        self.add("critic", networks.make_mlp, config.critic, critic)
        self.add("actor", networks.make_actor, config.actor, AdamConfig(config.actor_learning_rate))
        self.load_state(initial_state(config, np.random.default_rng(0)))
        layout = transition_layout(config.observation_size, config.action_size, dtype)
        self._layouts: Layouts = {"batch": layout, "draws": {}}
        self._compiled_chain = self.compiled(self._chain)

    def target_action(self, next_observation: Tensor) -> Tensor:
        with torch.no_grad():
            return self.targets["actor"](next_observation)

    def target(
        self,
        reward: Tensor,
        next_observation: Tensor,
        next_action: Tensor,
        terminated: Tensor,
        truncated: Tensor,
    ) -> Tensor:
        with torch.no_grad():
            v_t = _q(self.targets["critic"], next_observation, next_action)
            discount_t = returns.discounts(
                terminated, truncated, self.config.gamma, dtype=self.dtype
            )
            return returns.td_target(reward, discount_t, v_t)

    def td_error(self, observation: Tensor, action: Tensor, target: Tensor) -> Tensor:
        with torch.no_grad():
            return losses.td_error(_q(self.networks["critic"], observation, action), target)

    def critic_loss(self, observation: Tensor, action: Tensor, target: Tensor) -> Tensor:
        return losses.mse_loss(_q(self.networks["critic"], observation, action), target)

    def critic_gradients(
        self, observation: Tensor, action: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensors]:
        loss = self.critic_loss(observation, action, target)
        return loss.detach(), self.gradients(loss, "critic")

    def clip_critic(self, gradients: Mapping[str, Tensor]) -> tuple[Tensors, Tensor]:
        return self._clip(gradients)

    def apply_critic(self, gradients: Mapping[str, Tensor]) -> None:
        self.optimizers["critic"].apply(gradients)

    def actor_loss(self, observation: Tensor) -> Tensor:
        action = self.networks["actor"](observation)
        return losses.dpg_actor_loss(_q(self.networks["critic"], observation, action))

    def actor_gradients(self, observation: Tensor) -> tuple[Tensor, Tensors]:
        loss = self.actor_loss(observation)
        return loss.detach(), self.gradients(loss, "actor")

    def clip_actor(self, gradients: Mapping[str, Tensor]) -> tuple[Tensors, Tensor]:
        return self._clip(gradients)

    def apply_actor(self, gradients: Mapping[str, Tensor]) -> None:
        self.optimizers["actor"].apply(gradients)

    def update_targets(self) -> None:
        self.update_target("critic", self.config.tau)
        self.update_target("actor", self.config.tau)

    def set_learning_rate(self, group: str, value: float) -> None:
        require_group(group, GROUPS)
        self.optimizers[group].set_learning_rate(value)

    def update(self, batch: Mapping[str, Tensor], draws: Mapping[str, Tensor]) -> Tensors:
        self.require(batch, draws, self._layouts, self.config.check_finite)
        self.step += 1
        made: Tensors = self._compiled_chain(*(batch[name] for name in self._layouts["batch"]))
        return made

    def _chain(
        self,
        observation: Tensor,
        action: Tensor,
        reward: Tensor,
        next_observation: Tensor,
        terminated: Tensor,
        truncated: Tensor,
    ) -> Tensors:
        """All links, in order."""
        made: Tensors = {}
        next_action = self.target_action(next_observation)
        made["target"] = self.target(reward, next_observation, next_action, terminated, truncated)
        made["critic_loss"], gradients = self.critic_gradients(observation, action, made["target"])
        if self.config.max_gradient_norm is not None:
            gradients, made["critic_norm"] = self.clip_critic(gradients)
        self.apply_critic(gradients)
        made["actor_loss"], gradients = self.actor_gradients(observation)
        if self.config.max_gradient_norm is not None:
            gradients, made["actor_norm"] = self.clip_actor(gradients)
        self.apply_actor(gradients)
        self.update_targets()
        return made

    def _clip(self, gradients: Mapping[str, Tensor]) -> tuple[Tensors, Tensor]:
        assert self.config.max_gradient_norm is not None
        return optimizers.clip_by_global_norm(gradients, self.config.max_gradient_norm)


def make_learner(
    config: DDPGConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> DDPG:
    return DDPG(config, dtype=dtype, device=device, variant=variant)


def _q(critic: torch.nn.Module, observation: Tensor, action: Tensor) -> Tensor:
    """Action values ``[B]``."""
    return critic(torch.cat([observation, action], dim=-1)).squeeze(-1)
