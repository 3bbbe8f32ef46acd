"""PPO in TensorFlow: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import tensorflow as tf

from impls.advantages import tf_impl as advantages
from impls.learner.graphs_tf import Graphs
from impls.learner.on_policy_tf import OnPolicyLearner, flat
from impls.policy_losses import tf_impl as policy_losses
from impls.ppo.config import GROUPS, PPOConfig, require_orders, require_permutation
from impls.returns import tf_impl as returns

Tensors = dict[str, tf.Tensor]
LOSSES = ("loss", "policy_loss", "value_loss", "entropy")


class PPO(OnPolicyLearner):
    def __init__(
        self, config: PPOConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        super().__init__(config, dtype=dtype, device=device, variant=variant, log_prob=dtype)
        self._layouts = {**self._layouts, "draws": {"permutation": ((), "int64")}}
        # one graph of what comes before the steps (``traces`` counts the others), one of a step: a
        # loop over the minibatches in it would be unrolled. Which minibatch is an argument
        graph = Graphs(self._before, xla=variant == "xla", any_size=False)
        self._prepare = self._before if variant == "eager" else graph
        self._step = self.compiled(self._minibatch_links)

    def value_estimates(
        self, observation: tf.Tensor, next_observation: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        return self.state_values(observation), self.state_values(next_observation)

    def advantage(
        self,
        reward: tf.Tensor,
        value: tf.Tensor,
        next_value: tf.Tensor,
        terminated: tf.Tensor,
        truncated: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        c = self.config
        discount_t = returns.discounts(terminated, truncated, c.gamma, dtype=self.dtype)
        advantage = advantages.gae(
            reward, discount_t, value, next_value, lambda_=c.gae_lambda, truncated=truncated
        )
        return advantage, advantage + tf.stop_gradient(value)

    def flatten(
        self,
        observation: tf.Tensor,
        action: tf.Tensor,
        log_prob: tf.Tensor,
        value: tf.Tensor,
        advantage: tf.Tensor,
        target: tf.Tensor,
    ) -> tuple[tf.Tensor, ...]:
        fields = (observation, action, log_prob, value, advantage, target)
        return tuple(flat(x) for x in fields)

    def gather(
        self,
        permutation: tf.Tensor,
        flat_observation: tf.Tensor,
        flat_action: tf.Tensor,
        flat_log_prob: tf.Tensor,
        flat_value: tf.Tensor,
        flat_advantage: tf.Tensor,
        flat_target: tf.Tensor,
    ) -> tuple[tf.Tensor, ...]:
        rows = flat_target.shape[0] // self.config.minibatches
        index = tf.reshape(permutation, [-1, rows])
        fields = (flat_observation, flat_action, flat_log_prob)
        fields += (flat_value, flat_advantage, flat_target)
        return tuple(tf.gather(x, index) for x in fields)

    def minibatch(
        self,
        all_observation: tf.Tensor,
        all_action: tf.Tensor,
        all_log_prob: tf.Tensor,
        all_value: tf.Tensor,
        all_advantage: tf.Tensor,
        all_target: tf.Tensor,
        k: int | tf.Tensor = 0,
    ) -> tuple[tf.Tensor, ...]:
        fields = (all_observation, all_action, all_log_prob, all_value, all_advantage, all_target)
        return tuple(x[k] for x in fields)

    def normalize(self, mb_advantage: tf.Tensor) -> tf.Tensor:
        normalized: tf.Tensor = advantages.normalize_advantage(mb_advantage)
        return normalized

    def loss(
        self,
        mb_observation: tf.Tensor,
        mb_action: tf.Tensor,
        mb_log_prob: tf.Tensor,
        mb_value: tf.Tensor,
        mb_advantage: tf.Tensor,
        mb_target: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        c, made = self.config, self.network(mb_observation)
        log_prob = self.log_prob(made, mb_action)
        policy = policy_losses.clipped_surrogate_loss(
            log_prob, mb_log_prob, mb_advantage, clip=c.ratio_clip
        )
        if c.value_clip is None:
            value = policy_losses.value_loss(made["value"], mb_target)
        else:
            value = policy_losses.clipped_value_loss(
                made["value"], mb_value, mb_target, clip=c.value_clip
            )
        entropy = tf.reduce_mean(self.entropy(made))
        loss = policy + c.value_coefficient * value - c.entropy_coefficient * entropy
        return loss, policy, value, entropy

    def gradients_of(
        self,
        mb_observation: tf.Tensor,
        mb_action: tf.Tensor,
        mb_log_prob: tf.Tensor,
        mb_value: tf.Tensor,
        mb_advantage: tf.Tensor,
        mb_target: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor, Tensors]:
        fields = (mb_observation, mb_action, mb_log_prob, mb_value, mb_advantage, mb_target)
        with tf.GradientTape() as tape:
            parts = self.loss(*fields)
        return *parts, self.gradients(tape, parts[0], GROUPS[0])

    def update(self, batch: Mapping[str, tf.Tensor], draws: Mapping[str, tf.Tensor]) -> Tensors:
        self._require(batch, draws)
        self.step += 1
        fields = (batch[name] for name in self._layouts["batch"])
        made, everything = self._prepare(*fields, draws["permutation"])
        steps: list[Tensors] = []
        for k in range(self.config.epochs * self.config.minibatches):
            steps.append(self._step(*everything, tf.constant(k)))
        return made | {name: tf.stack([step[name] for step in steps]) for name in steps[0]}

    def _require(self, batch: Mapping[str, tf.Tensor], draws: Mapping[str, tf.Tensor]) -> None:
        self.require_batch(batch, draws)
        permutation = draws["permutation"]
        require_permutation(self.config, tuple(batch["reward"].shape), tuple(permutation.shape))
        if self.config.check_finite:
            require_orders(permutation.numpy())

    def _before(
        self,
        observation: tf.Tensor,
        action: tf.Tensor,
        reward: tf.Tensor,
        next_observation: tf.Tensor,
        terminated: tf.Tensor,
        truncated: tf.Tensor,
        log_prob: tf.Tensor,
        permutation: tf.Tensor,
    ) -> tuple[Tensors, tuple[tf.Tensor, ...]]:
        """Everything before the first step; all minibatches."""
        value, next_value = self.value_estimates(observation, next_observation)
        advantage, target = self.advantage(reward, value, next_value, terminated, truncated)
        rows = self.flatten(observation, action, log_prob, value, advantage, target)
        return {"advantage": advantage, "target": target}, self.gather(permutation, *rows)

    def _minibatch_links(
        self,
        all_observation: tf.Tensor,
        all_action: tf.Tensor,
        all_log_prob: tf.Tensor,
        all_value: tf.Tensor,
        all_advantage: tf.Tensor,
        all_target: tf.Tensor,
        k: tf.Tensor,
    ) -> Tensors:
        """The links of the k-th minibatch, in order."""
        everything = (all_observation, all_action, all_log_prob)
        everything += (all_value, all_advantage, all_target)
        observation, action, log_prob, value, advantage, target = self.minibatch(*everything, k=k)
        if self.config.normalize_advantage:
            advantage = self.normalize(advantage)
        fields = (observation, action, log_prob, value, advantage, target)
        *parts, gradients = self.gradients_of(*fields)
        made: Tensors = dict(zip(LOSSES, parts, strict=True))
        if self.config.max_gradient_norm is not None:
            gradients, made["gradient_norm"] = self.clip(gradients)
        self.apply(gradients)
        return made


def make_learner(
    config: PPOConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> PPO:
    return PPO(config, dtype=dtype, device=device, variant=variant)
