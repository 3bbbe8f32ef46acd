"""A2C in NumPy, float64, as on paper: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from impls.a2c.config import A2CConfig
from impls.learner.numpy_ref import Array, Arrays
from impls.learner.on_policy_ref import OnPolicyLearner, flat


class A2C(OnPolicyLearner):
    def __init__(
        self, config: A2CConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        super().__init__(config, dtype=dtype, variant=variant)

    def bootstrap(self, next_observation: Array) -> Array:
        return self.state_values(next_observation)

    def target(
        self, reward: Array, next_value: Array, terminated: Array, truncated: Array
    ) -> Array:
        target = np.zeros_like(reward)
        steps, environments = reward.shape
        for b in range(environments):
            for t in reversed(range(steps)):
                if terminated[t, b]:
                    following = 0.0
                elif truncated[t, b] or t == steps - 1:
                    following = next_value[t, b]
                else:
                    following = target[t + 1, b]
                target[t, b] = reward[t, b] + self.config.gamma * following
        return target

    def advantage(self, observation: Array, target: Array) -> Array:
        advantage = target - self.state_values(observation)
        if self.config.normalize_advantage:
            deviation = np.sqrt(np.mean((advantage - advantage.mean()) ** 2))
            advantage = (advantage - advantage.mean()) / (deviation + 1e-8)
        return np.asarray(advantage)

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
        made["target"] = self.target(
            batch["reward"],
            self.bootstrap(batch["next_observation"]),
            batch["terminated"],
            batch["truncated"],
        )
        made["advantage"] = self.advantage(batch["observation"], made["target"])
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
    config: A2CConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> A2C:
    return A2C(config, dtype=dtype, device=device, variant=variant)
