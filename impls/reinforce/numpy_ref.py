"""REINFORCE in NumPy, float64, episode by episode: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from impls.learner.numpy_ref import Array, Arrays
from impls.learner.on_policy_ref import OnPolicyLearner, flat
from impls.reinforce.config import ReinforceConfig, require_valid


class Reinforce(OnPolicyLearner):
    def __init__(
        self, config: ReinforceConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        super().__init__(config, dtype=dtype, variant=variant, valid="bool")

    def target(self, reward: Array, terminated: Array, truncated: Array, valid: Array) -> Array:
        target = np.zeros_like(reward)
        for b in range(reward.shape[1]):
            following = 0.0
            for t in reversed(range(reward.shape[0])):
                if terminated[t, b] or truncated[t, b]:
                    following = 0.0
                if valid[t, b]:
                    following = reward[t, b] + self.config.gamma * following
                    target[t, b] = following
        return target

    def weight(self, target: Array, valid: Array) -> Array:
        if not self.config.normalize_return:
            return target.copy()
        known = target[valid]
        deviation = np.sqrt(np.mean((known - known.mean()) ** 2))
        weight = np.zeros_like(target)
        weight[valid] = (known - known.mean()) / (deviation + 1e-8)
        return weight

    def flatten(
        self, observation: Array, action: Array, weight: Array, valid: Array
    ) -> tuple[Array, Array, Array, Array]:
        return flat(observation), flat(action), flat(weight), flat(valid)

    def loss(
        self, flat_observation: Array, flat_action: Array, flat_weight: Array, flat_valid: Array
    ) -> tuple[Array, Array, Array]:
        made = self.forward(flat_observation[flat_valid])
        log_prob = self.log_prob(made, flat_action[flat_valid])
        policy, entropy = -np.mean(log_prob * flat_weight[flat_valid]), self.entropy(made)
        loss = policy - self.config.entropy_coefficient * entropy
        return np.asarray(loss), np.asarray(policy), entropy

    def gradients_of(
        self, flat_observation: Array, flat_action: Array, flat_weight: Array, flat_valid: Array
    ) -> tuple[Array, Array, Array, Arrays]:
        steps = int(flat_valid.sum())
        gradients = self.backward(
            self.forward(flat_observation[flat_valid]),
            flat_action[flat_valid],
            of_log_prob=-flat_weight[flat_valid] / steps,
            of_entropy=np.full(steps, -self.config.entropy_coefficient / steps),
        )
        return *self.loss(flat_observation, flat_action, flat_weight, flat_valid), gradients

    def update(self, batch: Mapping[str, Array], draws: Mapping[str, Array]) -> Arrays:
        self.require_batch(batch, draws)
        if self.config.check_finite:
            require_valid(batch["valid"])
        self.values["step"] += 1
        made: Arrays = {}
        ends = (batch["terminated"], batch["truncated"])
        made["target"] = self.target(batch["reward"], *ends, batch["valid"])
        made["weight"] = self.weight(made["target"], batch["valid"])
        rows = self.flatten(batch["observation"], batch["action"], made["weight"], batch["valid"])
        made["loss"], made["policy_loss"], made["entropy"], gradients = self.gradients_of(*rows)
        if self.config.max_gradient_norm is not None:
            gradients, made["gradient_norm"] = self.clip(gradients)
        self.apply(gradients)
        return made


def make_learner(
    config: ReinforceConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> Reinforce:
    return Reinforce(config, dtype=dtype, device=device, variant=variant)
