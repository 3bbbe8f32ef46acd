"""DQN in PyTorch: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from impls.dqn.config import GROUPS, DQNConfig, batch_layout, initial_state
from impls.exploration import torch_impl as exploration
from impls.learner.config import Layouts, require_group
from impls.learner.torch_impl import Learner
from impls.networks import torch_impl as networks
from impls.optimizers import torch_impl as optimizers
from impls.optimizers.config import AdamConfig
from impls.returns import torch_impl as returns
from impls.value_losses import torch_impl as value_losses

Tensors = dict[str, Tensor]


class DQN(Learner):
    def __init__(
        self, config: DQNConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        super().__init__(dtype=dtype, device=device, variant=variant)
        self.config = config
        self.add("q", networks.make_mlp, config.network, AdamConfig(config.learning_rate))
        self.load_state(initial_state(config, np.random.default_rng(0)))
        self._layouts: Layouts = {"batch": batch_layout(config, dtype), "draws": {}}
        self._compiled_chain = self.compiled(self._chain)

    def act(self, observation: Tensor, draws: Mapping[str, Tensor]) -> Tensors:
        with torch.no_grad():
            q = self.networks["q"](observation)
            action = exploration.epsilon_greedy(
                q, draws["uniform"], draws["random_action"], epsilon=draws["epsilon"]
            )
            return {"action": action}

    def greedy(self, observation: Tensor) -> Tensor:
        with torch.no_grad():
            return torch.argmax(self.networks["q"](observation), dim=1)

    def target(
        self,
        reward: Tensor,
        next_observation: Tensor,
        terminated: Tensor,
        truncated: Tensor,
        steps: Tensor | None = None,
    ) -> Tensor:
        with torch.no_grad():
            q_t = self.targets["q"](next_observation)
            discount_t = self._discount(terminated, truncated, steps)
            if not self.config.double:
                return value_losses.dqn_target(reward, discount_t, q_t)
            selector_q_t = self.networks["q"](next_observation)
            return value_losses.double_dqn_target(reward, discount_t, q_t, selector_q_t)

    def td_error(self, observation: Tensor, action: Tensor, target: Tensor) -> Tensor:
        with torch.no_grad():
            return target - value_losses.chosen_value(self.networks["q"](observation), action)

    def loss(
        self, observation: Tensor, action: Tensor, target: Tensor, weight: Tensor | None = None
    ) -> Tensor:
        q_tm1 = self.networks["q"](observation)
        delta = self.config.huber_delta
        return value_losses.q_learning_loss(q_tm1, action, target, weight=weight, delta=delta)

    def loss_gradients(
        self, observation: Tensor, action: Tensor, target: Tensor, weight: Tensor | None = None
    ) -> tuple[Tensor, Tensors]:
        loss = self.loss(observation, action, target, weight)
        return loss.detach(), self.gradients(loss, "q")

    def clip_gradients(self, gradients: Mapping[str, Tensor]) -> tuple[Tensors, Tensor]:
        assert self.config.max_gradient_norm is not None
        return optimizers.clip_by_global_norm(gradients, self.config.max_gradient_norm)

    def apply_gradients(self, gradients: Mapping[str, Tensor]) -> None:
        self.optimizers["q"].apply(gradients)

    def update_target(self) -> None:
        super().update_target("q", self.config.tau)

    def set_learning_rate(self, group: str, value: float) -> None:
        require_group(group, GROUPS)
        self.optimizers[group].set_learning_rate(value)

    def update(self, batch: Mapping[str, Tensor], draws: Mapping[str, Tensor]) -> Tensors:
        self.require(batch, draws, self._layouts, self.config.check_finite)
        self.step += 1
        made: Tensors = self._compiled_chain(dict(batch))
        if self.step % self.config.target_period == 0:
            self.update_target()
        return made

    def _chain(self, batch: Tensors) -> Tensors:
        """All links but the target network's, in order."""
        s, a = batch["observation"], batch["action"]
        made: Tensors = {}
        ends = batch["terminated"], batch["truncated"]
        made["target"] = self.target(
            batch["reward"], batch["next_observation"], *ends, batch.get("steps")
        )
        made["td_error"] = self.td_error(s, a, made["target"])
        made["loss"], gradients = self.loss_gradients(s, a, made["target"], batch.get("weight"))
        if self.config.max_gradient_norm is not None:
            gradients, made["gradient_norm"] = self.clip_gradients(gradients)
        self.apply_gradients(gradients)
        return made

    def _discount(self, terminated: Tensor, truncated: Tensor, steps: Tensor | None) -> Tensor:
        gamma = self.config.gamma
        if steps is None:
            return returns.discounts(terminated, truncated, gamma, dtype=self.dtype)
        goes_on = returns.discounts(terminated, truncated, 1.0, dtype=self.dtype)
        return goes_on * torch.pow(gamma, steps.to(goes_on.dtype))


def make_learner(
    config: DQNConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> DQN:
    return DQN(config, dtype=dtype, device=device, variant=variant)
