"""SAC in PyTorch: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from impls.learner.config import Layouts, require_group, transition_layout
from impls.learner.torch_impl import Learner
from impls.networks import torch_impl as networks
from impls.optimizers import torch_impl as optimizers
from impls.optimizers.config import AdamConfig
from impls.policies import torch_impl as policies
from impls.returns import torch_impl as returns
from impls.sac.config import GROUPS, SACConfig, initial_state
from impls.sac_losses import torch_impl as sac_losses

Tensors = dict[str, Tensor]


class Temperature(nn.Module):
    """One parameter: the logarithm of the temperature."""

    def __init__(self, config: SACConfig, *, dtype: str, device: str) -> None:
        super().__init__()
        self.log_alpha = nn.Parameter(torch.zeros((), dtype=getattr(torch, dtype), device=device))


class SAC(Learner):
    def __init__(
        self, config: SACConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        super().__init__(dtype=dtype, device=device, variant=variant)
        self.config = config
        critic, actor = config.critic_learning_rate, config.actor_learning_rate
        self.add("critic", networks.make_twin_critic, config.critic, AdamConfig(critic))
        self.add("actor", networks.make_mlp, config.actor, AdamConfig(actor), target=False)
        temperature = AdamConfig(config.temperature_learning_rate)
        self.add("temperature", Temperature, config, temperature, target=False)
        self.load_state(initial_state(config, np.random.default_rng(0)))
        layout = transition_layout(config.observation_size, config.action_size, dtype)
        draws = {"noise": layout["action"], "next_noise": layout["action"]}
        self._layouts: Layouts = {"batch": layout, "draws": draws}
        self._compiled_chain = self.compiled(self._chain)

    def act(self, observation: Tensor, draws: Mapping[str, Tensor]) -> Tensors:
        return {"action": self.sample(observation, draws["noise"])[0]}

    def greedy(self, observation: Tensor) -> Tensor:
        with torch.no_grad():
            mean, _ = self._policy(observation)
            return policies.tanh_gaussian_mode(mean, **self.config.limits)

    def alpha(self) -> Tensor:
        return torch.exp(self.parameters["temperature"]["log_alpha"].detach())

    def sample(self, observation: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            return self._sample(observation, noise)

    def target(
        self,
        reward: Tensor,
        next_observation: Tensor,
        next_action: Tensor,
        next_log_prob: Tensor,
        alpha: Tensor,
        terminated: Tensor,
        truncated: Tensor,
    ) -> Tensor:
        with torch.no_grad():
            q1_t, q2_t = self.targets["critic"](next_observation, next_action)
            discount_t = returns.discounts(
                terminated, truncated, self.config.gamma, dtype=self.dtype
            )
            return sac_losses.soft_target(
                reward, discount_t, q1_t, q2_t, next_log_prob, alpha=alpha
            )

    def td_error(
        self, observation: Tensor, action: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            q1_tm1, q2_tm1 = self.networks["critic"](observation, action)
            return target - q1_tm1, target - q2_tm1

    def critic_loss(self, observation: Tensor, action: Tensor, target: Tensor) -> Tensor:
        q1_tm1, q2_tm1 = self.networks["critic"](observation, action)
        return sac_losses.soft_critic_loss(q1_tm1, q2_tm1, target)

    def critic_gradients(
        self, observation: Tensor, action: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensors]:
        loss = self.critic_loss(observation, action, target)
        return loss.detach(), self.gradients(loss, "critic")

    def clip_critic(self, gradients: Mapping[str, Tensor]) -> tuple[Tensors, Tensor]:
        return self._clip(gradients)

    def apply_critic(self, gradients: Mapping[str, Tensor]) -> None:
        self.optimizers["critic"].apply(gradients)

    def actor_loss(self, observation: Tensor, noise: Tensor, alpha: Tensor) -> Tensor:
        return self._actor_loss(observation, noise, alpha)[0]

    def actor_gradients(
        self, observation: Tensor, noise: Tensor, alpha: Tensor
    ) -> tuple[Tensor, Tensor, Tensors]:
        loss, log_prob = self._actor_loss(observation, noise, alpha)
        return loss.detach(), log_prob.detach(), self.gradients(loss, "actor")

    def clip_actor(self, gradients: Mapping[str, Tensor]) -> tuple[Tensors, Tensor]:
        return self._clip(gradients)

    def apply_actor(self, gradients: Mapping[str, Tensor]) -> None:
        self.optimizers["actor"].apply(gradients)

    def temperature_loss(self, log_prob: Tensor) -> Tensor:
        log_alpha = self.parameters["temperature"]["log_alpha"]
        return sac_losses.temperature_loss(log_alpha, log_prob, target_entropy=self.config.entropy)

    def temperature_gradients(self, log_prob: Tensor) -> tuple[Tensor, Tensors]:
        loss = self.temperature_loss(log_prob)
        return loss.detach(), self.gradients(loss, "temperature")

    def apply_temperature(self, gradients: Mapping[str, Tensor]) -> None:
        self.optimizers["temperature"].apply(gradients)

    def update_targets(self) -> None:
        self.update_target("critic", self.config.tau)

    def set_learning_rate(self, group: str, value: float) -> None:
        require_group(group, GROUPS)
        self.optimizers[group].set_learning_rate(value)

    def update(self, batch: Mapping[str, Tensor], draws: Mapping[str, Tensor]) -> Tensors:
        self.require(batch, draws, self._layouts, self.config.check_finite)
        self.step += 1
        made: Tensors = self._compiled_chain(dict(batch), dict(draws))
        return made

    def _chain(self, batch: Tensors, draws: Tensors) -> Tensors:
        """All links, in order."""
        alpha = self.alpha()
        made = {"alpha": alpha, **self._critic_links(batch, draws["next_noise"], alpha)}
        losses, log_prob = self._actor_links(batch["observation"], draws["noise"], alpha)
        made |= losses
        if self.config.learn_temperature:
            made["temperature_loss"], gradients = self.temperature_gradients(log_prob)
            self.apply_temperature(gradients)
        self.update_targets()
        return made

    def _critic_links(self, batch: Tensors, next_noise: Tensor, alpha: Tensor) -> Tensors:
        """The target, and one step of both critics."""
        made: Tensors = {}
        s_next, ends = batch["next_observation"], (batch["terminated"], batch["truncated"])
        next_action, next_log_prob = self.sample(s_next, next_noise)
        y = self.target(batch["reward"], s_next, next_action, next_log_prob, alpha, *ends)
        made["target"] = y
        made["critic_loss"], gradients = self.critic_gradients(
            batch["observation"], batch["action"], y
        )
        if self.config.max_gradient_norm is not None:
            gradients, made["critic_norm"] = self.clip_critic(gradients)
        self.apply_critic(gradients)
        return made

    def _actor_links(
        self, observation: Tensor, noise: Tensor, alpha: Tensor
    ) -> tuple[Tensors, Tensor]:
        """One step of the actor, and the log-probabilities of the sample that it learned from."""
        made: Tensors = {}
        made["actor_loss"], log_prob, gradients = self.actor_gradients(observation, noise, alpha)
        if self.config.max_gradient_norm is not None:
            gradients, made["actor_norm"] = self.clip_actor(gradients)
        self.apply_actor(gradients)
        return made, log_prob

    def _actor_loss(
        self, observation: Tensor, noise: Tensor, alpha: Tensor
    ) -> tuple[Tensor, Tensor]:
        action, log_prob = self._sample(observation, noise)
        q1, q2 = self.networks["critic"](observation, action)
        return sac_losses.soft_actor_loss(log_prob, q1, q2, alpha=alpha), log_prob

    def _sample(self, observation: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_std = self._policy(observation)
        action, log_prob = policies.tanh_gaussian_sample(mean, log_std, noise, **self.config.limits)
        return action, log_prob

    def _policy(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and clipped logarithm of the standard deviation, before squashing."""
        mean, log_std = torch.chunk(self.networks["actor"](observation), 2, dim=-1)
        return mean, torch.clamp(log_std, self.config.log_std_min, self.config.log_std_max)

    def _clip(self, gradients: Mapping[str, Tensor]) -> tuple[Tensors, Tensor]:
        assert self.config.max_gradient_norm is not None
        return optimizers.clip_by_global_norm(gradients, self.config.max_gradient_norm)


def make_learner(
    config: SACConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> SAC:
    return SAC(config, dtype=dtype, device=device, variant=variant)
