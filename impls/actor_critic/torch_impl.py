"""One-step actor-critic in PyTorch: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from impls.actor_critic.config import GROUPS, ActorCriticConfig
from impls.learner.on_policy_torch import OnPolicyLearner
from impls.policy_losses import torch_impl as policy_losses
from impls.returns import torch_impl as returns

Tensors = dict[str, Tensor]


class ActorCritic(OnPolicyLearner):
    def __init__(
        self, config: ActorCriticConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        super().__init__(config, dtype=dtype, device=device, variant=variant)
        self._step = self.compiled(self._links)

    def value_estimates(
        self, observation: Tensor, next_observation: Tensor
    ) -> tuple[Tensor, Tensor]:
        return self.state_values(observation), self.state_values(next_observation)

    def target(
        self, reward: Tensor, next_value: Tensor, terminated: Tensor, truncated: Tensor
    ) -> Tensor:
        discount_t = returns.discounts(terminated, truncated, self.config.gamma, dtype=self.dtype)
        target: Tensor = returns.td_target(reward, discount_t, next_value)
        return target.detach()

    def advantage(self, value: Tensor, target: Tensor) -> Tensor:
        return (target - value).detach()

    def flatten(
        self, observation: Tensor, action: Tensor, advantage: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        flat = [x.flatten(0, 1) for x in (observation, action, advantage, target)]
        return flat[0], flat[1], flat[2], flat[3]

    def loss(
        self,
        flat_observation: Tensor,
        flat_action: Tensor,
        flat_advantage: Tensor,
        flat_target: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        c, made = self.config, self.network(flat_observation)
        log_prob = self.log_prob(made, flat_action)
        policy = policy_losses.policy_gradient_loss(log_prob, flat_advantage)
        value = policy_losses.value_loss(made["value"], flat_target)
        entropy = torch.mean(self.entropy(made))
        loss = policy + c.value_coefficient * value - c.entropy_coefficient * entropy
        return loss, policy, value, entropy

    def gradients_of(
        self,
        flat_observation: Tensor,
        flat_action: Tensor,
        flat_advantage: Tensor,
        flat_target: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensors]:
        parts = self.loss(flat_observation, flat_action, flat_advantage, flat_target)
        loss, policy, value, entropy = (part.detach() for part in parts)
        return loss, policy, value, entropy, self.gradients(parts[0], GROUPS[0])

    def update(self, batch: Mapping[str, Tensor], draws: Mapping[str, Tensor]) -> Tensors:
        self.require_batch(batch, draws)
        self.step += 1
        made: Tensors = self._step(*(batch[name] for name in self._layouts["batch"]))
        return made

    def _links(
        self,
        observation: Tensor,
        action: Tensor,
        reward: Tensor,
        next_observation: Tensor,
        terminated: Tensor,
        truncated: Tensor,
    ) -> Tensors:
        """The whole update, in order."""
        made: Tensors = {}
        value, next_value = self.value_estimates(observation, next_observation)
        made["target"] = self.target(reward, next_value, terminated, truncated)
        made["advantage"] = self.advantage(value, made["target"])
        flat = self.flatten(observation, action, made["advantage"], made["target"])
        *parts, gradients = self.gradients_of(*flat)
        made |= dict(zip(("loss", "policy_loss", "value_loss", "entropy"), parts, strict=True))
        if self.config.max_gradient_norm is not None:
            gradients, made["gradient_norm"] = self.clip(gradients)
        self.apply(gradients)
        return made


def make_learner(
    config: ActorCriticConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> ActorCritic:
    return ActorCritic(config, dtype=dtype, device=device, variant=variant)
