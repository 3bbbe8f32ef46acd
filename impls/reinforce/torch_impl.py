"""REINFORCE in PyTorch: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from impls.learner.on_policy_torch import OnPolicyLearner
from impls.policy_losses import torch_impl as policy_losses
from impls.reinforce.config import GROUPS, ReinforceConfig, require_valid
from impls.returns import torch_impl as returns

Tensors = dict[str, Tensor]


class Reinforce(OnPolicyLearner):
    def __init__(
        self, config: ReinforceConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        super().__init__(config, dtype=dtype, device=device, variant=variant, valid="bool")
        self._step = self.compiled(self._links)

    def target(
        self, reward: Tensor, terminated: Tensor, truncated: Tensor, valid: Tensor
    ) -> Tensor:
        earned = torch.where(valid, reward, torch.zeros_like(reward))
        discount_t = returns.discounts(terminated, truncated, self.config.gamma, dtype=self.dtype)
        target = returns.reward_to_go(earned, discount_t, truncated=truncated)
        return target.detach()

    def weight(self, target: Tensor, valid: Tensor) -> Tensor:
        if not self.config.normalize_return:
            return target.detach()
        with torch.no_grad():
            centred = target - self._mean(target, valid)
            deviation = torch.sqrt(self._mean(torch.square(centred), valid))
            return torch.where(valid, centred / (deviation + 1e-8), torch.zeros_like(target))

    def flatten(
        self, observation: Tensor, action: Tensor, weight: Tensor, valid: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        flat = [x.flatten(0, 1) for x in (observation, action, weight, valid)]
        return flat[0], flat[1], flat[2], flat[3]

    def loss(
        self,
        flat_observation: Tensor,
        flat_action: Tensor,
        flat_weight: Tensor,
        flat_valid: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        made = self.network(flat_observation)
        log_prob = self.log_prob(made, flat_action)
        terms = policy_losses.policy_gradient_loss(log_prob, flat_weight, reduction="none")
        policy = self._mean(terms, flat_valid)
        entropy = self.entropy(made)
        if not self.config.continuous:  # else all rows share one
            entropy = self._mean(entropy, flat_valid)
        return policy - self.config.entropy_coefficient * entropy, policy, entropy

    def gradients_of(
        self,
        flat_observation: Tensor,
        flat_action: Tensor,
        flat_weight: Tensor,
        flat_valid: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensors]:
        parts = self.loss(flat_observation, flat_action, flat_weight, flat_valid)
        loss, policy, entropy = (part.detach() for part in parts)
        return loss, policy, entropy, self.gradients(parts[0], GROUPS[0])

    def update(self, batch: Mapping[str, Tensor], draws: Mapping[str, Tensor]) -> Tensors:
        self.require_batch(batch, draws)
        if self.config.check_finite:
            require_valid(batch["valid"].cpu().numpy())
        self.step += 1
        names = ("observation", "action", "reward", "terminated", "truncated", "valid")
        made: Tensors = self._step(*(batch[name] for name in names))
        return made

    def _links(
        self,
        observation: Tensor,
        action: Tensor,
        reward: Tensor,
        terminated: Tensor,
        truncated: Tensor,
        valid: Tensor,
    ) -> Tensors:
        """The whole update, in order."""
        made: Tensors = {}
        made["target"] = self.target(reward, terminated, truncated, valid)
        made["weight"] = self.weight(made["target"], valid)
        rows = self.flatten(observation, action, made["weight"], valid)
        *parts, gradients = self.gradients_of(*rows)
        made |= dict(zip(("loss", "policy_loss", "entropy"), parts, strict=True))
        if self.config.max_gradient_norm is not None:
            gradients, made["gradient_norm"] = self.clip(gradients)
        self.apply(gradients)
        return made

    def _mean(self, rows: Tensor, valid: Tensor) -> Tensor:
        """Over the valid rows; the others have no part in it, and get no gradient."""
        kept = torch.where(valid, rows, torch.zeros_like(rows))
        return torch.sum(kept) / torch.sum(valid.to(rows.dtype))


def make_learner(
    config: ReinforceConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> Reinforce:
    return Reinforce(config, dtype=dtype, device=device, variant=variant)
