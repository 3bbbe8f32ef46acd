"""What learners from rollouts have in common in TensorFlow: see ``on_policy.py``, ``spec.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from impls.actor_critic_network import tf_impl as actor_critic_network
from impls.learner.config import Layouts, require_group
from impls.learner.on_policy import (
    GROUP,
    GROUPS,
    OnPolicyConfig,
    initial_state,
    require_rollout,
    rollout_layout,
)
from impls.learner.tf_impl import Learner
from impls.optimizers import tf_impl as optimizers
from impls.policies import tf_impl as policies

Tensors = dict[str, tf.Tensor]


class OnPolicyLearner(Learner):
    """One network, one optimizer, batches ``[T, B, ...]``."""

    any_size = False  # a return is accumulated over a T that is known while tracing

    def __init__(
        self, config: OnPolicyConfig, *, dtype: str, device: str, variant: str, **fields: str
    ) -> None:
        super().__init__(dtype=dtype, device=device, variant=variant)
        self.config: Any = config
        make = actor_critic_network.make_actor_critic
        self.add(GROUP, make, config.network, config.optimizer_config, target=False)
        self.network: Any = self.networks[GROUP]
        self.load_state(initial_state(config, np.random.default_rng(0)))
        self._layouts: Layouts = {"batch": rollout_layout(config, dtype, **fields), "draws": {}}
        self._bounds = np.array(config.bounds, dtype)

    def act(self, observation: tf.Tensor, draws: Mapping[str, tf.Tensor]) -> Tensors:
        made = self.network(observation)
        if not self.config.continuous:
            found = {"action": policies.categorical_sample(made["logits"], draws["uniform"])}
        else:
            action = policies.gaussian_sample(made["mean"], made["log_std"], draws["noise"])
            found = {"action": action, "clipped_action": self._clipped(action)}
        if "log_prob" in self._layouts["batch"]:
            found["log_prob"] = self.log_prob(made, found["action"])
        return found

    def greedy(self, observation: tf.Tensor) -> tf.Tensor:
        made = self.network(observation)
        if self.config.continuous:
            return self._clipped(policies.gaussian_mode(made["mean"]))
        return policies.categorical_mode(made["logits"])

    def log_prob(self, made: Mapping[str, tf.Tensor], action: tf.Tensor) -> tf.Tensor:
        """Of the actions, under the policy that the network has made."""
        if self.config.continuous:
            return policies.gaussian_log_prob(made["mean"], made["log_std"], action)
        return policies.categorical_log_prob(made["logits"], action)

    def entropy(self, made: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Per row; a scalar where ``log_std`` is the same for all rows."""
        if self.config.continuous:
            return policies.gaussian_entropy(made["log_std"])
        return policies.categorical_entropy(made["logits"])

    def state_values(self, observation: tf.Tensor) -> tf.Tensor:
        """[T, B, obs] -> [T, B]; no gradient."""
        size = self.config.observation_size
        values = self.network.state_value(tf.reshape(observation, [-1, size]))
        return tf.stop_gradient(tf.reshape(values, tf.shape(observation)[:2]))

    def clip(self, gradients: Mapping[str, tf.Tensor]) -> tuple[Tensors, tf.Tensor]:
        assert self.config.max_gradient_norm is not None
        return optimizers.clip_by_global_norm(gradients, self.config.max_gradient_norm)

    def apply(self, gradients: Mapping[str, tf.Tensor]) -> None:
        self.optimizers[GROUP].apply(gradients)

    def set_learning_rate(self, group: str, value: float) -> None:
        require_group(group, GROUPS)
        self.optimizers[group].set_learning_rate(value)

    def require_batch(self, batch: Mapping[str, tf.Tensor], draws: Mapping[str, tf.Tensor]) -> None:
        """Refuse a rollout and draws that do not fit."""
        self.require(batch, draws, self._layouts, self.config.check_finite, require_rollout)

    def _clipped(self, action: tf.Tensor) -> tf.Tensor:
        return tf.clip_by_value(action, -self._bounds, self._bounds)


def flat(x: tf.Tensor) -> tf.Tensor:
    """[T, B, ...] -> [T * B, ...], row t * B + b."""
    return tf.reshape(x, [-1, *x.shape[2:]])
