"""A2C in TensorFlow: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import tensorflow as tf

from impls.a2c.config import GROUPS, A2CConfig
from impls.advantages import tf_impl as advantages
from impls.learner.on_policy_tf import OnPolicyLearner, flat
from impls.policy_losses import tf_impl as policy_losses
from impls.returns import tf_impl as returns

Tensors = dict[str, tf.Tensor]


class A2C(OnPolicyLearner):
    def __init__(
        self, config: A2CConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        super().__init__(config, dtype=dtype, device=device, variant=variant)
        self._step = self.compiled(self._links)

    def bootstrap(self, next_observation: tf.Tensor) -> tf.Tensor:
        return self.state_values(next_observation)

    def target(
        self,
        reward: tf.Tensor,
        next_value: tf.Tensor,
        terminated: tf.Tensor,
        truncated: tf.Tensor,
    ) -> tf.Tensor:
        discount_t = returns.discounts(terminated, truncated, self.config.gamma, dtype=self.dtype)
        target = returns.reward_to_go(reward, discount_t, next_value, truncated=truncated)
        return tf.stop_gradient(target)

    def advantage(self, observation: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        advantage = target - self.state_values(observation)
        if self.config.normalize_advantage:
            advantage = advantages.normalize_advantage(advantage)
        return tf.stop_gradient(advantage)

    def flatten(
        self, observation: tf.Tensor, action: tf.Tensor, advantage: tf.Tensor, target: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        return flat(observation), flat(action), flat(advantage), flat(target)

    def loss(
        self,
        flat_observation: tf.Tensor,
        flat_action: tf.Tensor,
        flat_advantage: tf.Tensor,
        flat_target: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        c, made = self.config, self.network(flat_observation)
        log_prob = self.log_prob(made, flat_action)
        policy = policy_losses.policy_gradient_loss(log_prob, flat_advantage)
        value = policy_losses.value_loss(made["value"], flat_target)
        entropy = tf.reduce_mean(self.entropy(made))
        loss = policy + c.value_coefficient * value - c.entropy_coefficient * entropy
        return loss, policy, value, entropy

    def gradients_of(
        self,
        flat_observation: tf.Tensor,
        flat_action: tf.Tensor,
        flat_advantage: tf.Tensor,
        flat_target: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor, Tensors]:
        with tf.GradientTape() as tape:
            parts = self.loss(flat_observation, flat_action, flat_advantage, flat_target)
        return *parts, self.gradients(tape, parts[0], GROUPS[0])

    def update(self, batch: Mapping[str, tf.Tensor], draws: Mapping[str, tf.Tensor]) -> Tensors:
        self.require_batch(batch, draws)
        self.step += 1
        made: Tensors = self._step(*(batch[name] for name in self._layouts["batch"]))
        return made

    def _links(
        self,
        observation: tf.Tensor,
        action: tf.Tensor,
        reward: tf.Tensor,
        next_observation: tf.Tensor,
        terminated: tf.Tensor,
        truncated: tf.Tensor,
    ) -> Tensors:
        """The whole update, in order."""
        made: Tensors = {}
        next_value = self.bootstrap(next_observation)
        made["target"] = self.target(reward, next_value, terminated, truncated)
        made["advantage"] = self.advantage(observation, made["target"])
        flattened = self.flatten(observation, action, made["advantage"], made["target"])
        *parts, gradients = self.gradients_of(*flattened)
        made |= dict(zip(("loss", "policy_loss", "value_loss", "entropy"), parts, strict=True))
        if self.config.max_gradient_norm is not None:
            gradients, made["gradient_norm"] = self.clip(gradients)
        self.apply(gradients)
        return made


def make_learner(
    config: A2CConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> A2C:
    return A2C(config, dtype=dtype, device=device, variant=variant)
