"""One-step actor-critic in NumPy, float64, step by step: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from impls.actor_critic.config import ActorCriticConfig
from impls.learner.numpy_ref import Array, Arrays
from impls.learner.on_policy_ref import OnPolicyLearner, flat


class ActorCritic(OnPolicyLearner):
    def __init__(
        self, config: ActorCriticConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        super().__init__(config, dtype=dtype, variant=variant)

    def value_estimates(self, observation: Array, next_observation: Array) -> tuple[Array, Array]:
        return self.state_values(observation), self.state_values(next_observation)

    def target(
        self, reward: Array, next_value: Array, terminated: Array, truncated: Array
    ) -> Array:
        # a time limit is no property of the task: only termination ends the sum
        return np.where(terminated, reward, reward + self.config.gamma * next_value)

    def advantage(self, value: Array, target: Array) -> Array:
        return np.asarray(target - value)

    def flatten(
        self, observation: Array, action: Array, advantage: Array, target: Array
    ) -> tuple[Array, Array, Array, Array]:
        return flat(observation), flat(action), flat(advantage), flat(target)

    def loss(
        self, flat_observation: Array, flat_action: Array, flat_advantage: Array, flat_target: Array
    ) -> tuple[Array, Array, Array, Array]:
        made = self.forward(flat_observation)
        policy = -np.mean(self.log_prob(made, flat_action) * flat_advantage)
        value = np.mean((flat_target - made["value"]) ** 2) / 2.0
        entropy = self.entropy(made)
        c = self.config
        loss = policy + c.value_coefficient * value - c.entropy_coefficient * entropy
        return np.asarray(loss), np.asarray(policy), np.asarray(value), entropy

    def gradients_of(
        self, flat_observation: Array, flat_action: Array, flat_advantage: Array, flat_target: Array
    ) -> tuple[Array, Array, Array, Array, Arrays]:
        c, rows, made = self.config, len(flat_target), self.forward(flat_observation)
        gradients = self.backward(
            made,
            flat_action,
            of_log_prob=-flat_advantage / rows,
            of_entropy=np.full(rows, -c.entropy_coefficient / rows),
            of_value=c.value_coefficient * (made["value"] - flat_target) / rows,
        )
        return *self.loss(flat_observation, flat_action, flat_advantage, flat_target), gradients

    def update(self, batch: Mapping[str, Array], draws: Mapping[str, Array]) -> Arrays:
        self.require_batch(batch, draws)
        self.values["step"] += 1
        made: Arrays = {}
        value, next_value = self.value_estimates(batch["observation"], batch["next_observation"])
        ends = (batch["terminated"], batch["truncated"])
        made["target"] = self.target(batch["reward"], next_value, *ends)
        made["advantage"] = self.advantage(value, made["target"])
        rows = self.flatten(
            batch["observation"], batch["action"], made["advantage"], made["target"]
        )
        loss, policy, value, entropy, gradients = self.gradients_of(*rows)
        made |= {"loss": loss, "policy_loss": policy, "value_loss": value, "entropy": entropy}
        if self.config.max_gradient_norm is not None:
            gradients, made["gradient_norm"] = self.clip(gradients)
        self.apply(gradients)
        return made


def make_learner(
    config: ActorCriticConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> ActorCritic:
    return ActorCritic(config, dtype=dtype, device=device, variant=variant)
