"""REINFORCE in TensorFlow: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import tensorflow as tf

from impls.learner.on_policy_tf import OnPolicyLearner, flat
from impls.policy_losses import tf_impl as policy_losses
from impls.reinforce.config import GROUPS, ReinforceConfig, require_valid
from impls.returns import tf_impl as returns

Tensors = dict[str, tf.Tensor]


class Reinforce(OnPolicyLearner):
    def __init__(
        self, config: ReinforceConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        super().__init__(config, dtype=dtype, device=device, variant=variant, valid="bool")
        self._step = self.compiled(self._links)

    def target(
        self, reward: tf.Tensor, terminated: tf.Tensor, truncated: tf.Tensor, valid: tf.Tensor
    ) -> tf.Tensor:
        earned = tf.where(valid, reward, tf.zeros_like(reward))
        discount_t = returns.discounts(terminated, truncated, self.config.gamma, dtype=self.dtype)
        target = returns.reward_to_go(earned, discount_t, truncated=truncated)
        return tf.stop_gradient(target)

    def weight(self, target: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
        if not self.config.normalize_return:
            return tf.stop_gradient(target)
        centred = target - self._mean(target, valid)
        deviation = tf.sqrt(self._mean(tf.square(centred), valid))
        weight = tf.where(valid, centred / (deviation + 1e-8), tf.zeros_like(target))
        return tf.stop_gradient(weight)

    def flatten(
        self, observation: tf.Tensor, action: tf.Tensor, weight: tf.Tensor, valid: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        return flat(observation), flat(action), flat(weight), flat(valid)

    def loss(
        self,
        flat_observation: tf.Tensor,
        flat_action: tf.Tensor,
        flat_weight: tf.Tensor,
        flat_valid: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
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
        flat_observation: tf.Tensor,
        flat_action: tf.Tensor,
        flat_weight: tf.Tensor,
        flat_valid: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, Tensors]:
        with tf.GradientTape() as tape:
            parts = self.loss(flat_observation, flat_action, flat_weight, flat_valid)
        return *parts, self.gradients(tape, parts[0], GROUPS[0])

    def update(self, batch: Mapping[str, tf.Tensor], draws: Mapping[str, tf.Tensor]) -> Tensors:
        self.require_batch(batch, draws)
        if self.config.check_finite:
            require_valid(batch["valid"].numpy())
        self.step += 1
        names = ("observation", "action", "reward", "terminated", "truncated", "valid")
        made: Tensors = self._step(*(batch[name] for name in names))
        return made

    def _links(
        self,
        observation: tf.Tensor,
        action: tf.Tensor,
        reward: tf.Tensor,
        terminated: tf.Tensor,
        truncated: tf.Tensor,
        valid: tf.Tensor,
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

    def _mean(self, rows: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
        """Over the valid rows; the others have no part in it, and get no gradient."""
        kept = tf.where(valid, rows, tf.zeros_like(rows))
        return tf.reduce_sum(kept) / tf.reduce_sum(tf.cast(valid, rows.dtype))


def make_learner(
    config: ReinforceConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> Reinforce:
    return Reinforce(config, dtype=dtype, device=device, variant=variant)
