"""TD3 in PyTorch: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from impls.exploration import torch_impl as exploration
from impls.learner.config import Layouts, require_group, transition_layout
from impls.learner.torch_impl import Learner
from impls.losses import torch_impl as losses
from impls.networks import torch_impl as networks
from impls.optimizers import torch_impl as optimizers
from impls.optimizers.config import AdamConfig
from impls.returns import torch_impl as returns
from impls.td3.config import GROUPS, TD3Config, initial_state

Tensors = dict[str, Tensor]


class TD3(Learner):
    def __init__(
        self, config: TD3Config, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        super().__init__(dtype=dtype, device=device, variant=variant)
        self.config = config
        critic, actor = config.critic_learning_rate, config.actor_learning_rate
        self.add("critic", networks.make_twin_critic, config.critic, AdamConfig(critic))
        self.add("actor", networks.make_actor, config.actor, AdamConfig(actor))
        self.load_state(initial_state(config, np.random.default_rng(0)))
        layout = transition_layout(config.observation_size, config.action_size, dtype)
        self._layouts: Layouts = {"batch": layout, "draws": {"noise": layout["action"]}}
        # two graphs, and the choice between them in Python: a delay inside of one would be frozen
        self._critic_step = self.compiled(self._critic_links)
        self._delayed_step = self.compiled(self._delayed_links)

    def target_action(self, next_observation: Tensor, noise: Tensor) -> Tensor:
        with torch.no_grad():
            action = self.targets["actor"](next_observation)
            return exploration.smoothed_target_action(action, noise, **self.config.smoothing)

    def target(
        self,
        reward: Tensor,
        next_observation: Tensor,
        next_action: Tensor,
        terminated: Tensor,
        truncated: Tensor,
    ) -> Tensor:
        with torch.no_grad():
            q1_t, q2_t = self.targets["critic"](next_observation, next_action)
            v_t = torch.minimum(q1_t, q2_t)
            discount_t = returns.discounts(
                terminated, truncated, self.config.gamma, dtype=self.dtype
            )
            return returns.td_target(reward, discount_t, v_t)

    def td_error(
        self, observation: Tensor, action: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            q1_tm1, q2_tm1 = self.networks["critic"](observation, action)
            return losses.td_error(q1_tm1, target), losses.td_error(q2_tm1, target)

    def critic_loss(self, observation: Tensor, action: Tensor, target: Tensor) -> Tensor:
        q1_tm1, q2_tm1 = self.networks["critic"](observation, action)
        return losses.twin_critic_loss(q1_tm1, q2_tm1, target)

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
        return losses.dpg_actor_loss(self.networks["critic"].q1(observation, action))

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
        fields = (batch[name] for name in self._layouts["batch"])
        step = self._critic_step
        if self.step % self.config.policy_delay == 0:
            step = self._delayed_step
        made: Tensors = step(*fields, draws["noise"])
        return made

    def _critic_links(
        self,
        observation: Tensor,
        action: Tensor,
        reward: Tensor,
        next_observation: Tensor,
        terminated: Tensor,
        truncated: Tensor,
        noise: Tensor,
    ) -> Tensors:
        """The links of every update, in order."""
        made: Tensors = {}
        next_action = self.target_action(next_observation, noise)
        made["target"] = self.target(reward, next_observation, next_action, terminated, truncated)
        made["critic_loss"], gradients = self.critic_gradients(observation, action, made["target"])
        if self.config.max_gradient_norm is not None:
            gradients, made["critic_norm"] = self.clip_critic(gradients)
        self.apply_critic(gradients)
        return made

    def _delayed_links(self, observation: Tensor, *others: Tensor) -> Tensors:
        """All links, of a delayed update: one graph, in which nothing waits for a second call."""
        return {**self._critic_links(observation, *others), **self._actor_links(observation)}

    def _actor_links(self, observation: Tensor) -> Tensors:
        """The links that a delayed update has on top, in order."""
        made: Tensors = {}
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
    config: TD3Config, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> TD3:
    return TD3(config, dtype=dtype, device=device, variant=variant)
