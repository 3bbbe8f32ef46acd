"""DDPG in TensorFlow: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from impls.ddpg.config import GROUPS, DDPGConfig, initial_state
from impls.learner.config import Layouts, require_group, transition_layout
from impls.learner.tf_impl import Learner
from impls.losses import tf_impl as losses
from impls.networks import tf_impl as networks
from impls.optimizers import tf_impl as optimizers
from impls.optimizers.config import AdamConfig
from impls.returns import tf_impl as returns

Tensors = dict[str, tf.Tensor]


class DDPG(Learner):
    def __init__(
        self, config: DDPGConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        super().__init__(dtype=dtype, device=device, variant=variant)
        self.config = config
        critic = AdamConfig(config.critic_learning_rate, weight_decay=config.critic_weight_decay)
        self.add("critic", networks.make_mlp, config.critic, critic)
        self.add("actor", networks.make_actor, config.actor, AdamConfig(config.actor_learning_rate))
        self.load_state(initial_state(config, np.random.default_rng(0)))
        layout = transition_layout(config.observation_size, config.action_size, dtype)
        self._layouts: Layouts = {"batch": layout, "draws": {}}
        self._compiled_chain = self.compiled(self._chain)

    def target_action(self, next_observation: tf.Tensor) -> tf.Tensor:
        return self.targets["actor"](next_observation)

    def target(
        self,
        reward: tf.Tensor,
        next_observation: tf.Tensor,
        next_action: tf.Tensor,
        terminated: tf.Tensor,
        truncated: tf.Tensor,
    ) -> tf.Tensor:
        v_t = _q(self.targets["critic"], next_observation, next_action)
        discount_t = returns.discounts(terminated, truncated, self.config.gamma, dtype=self.dtype)
        return returns.td_target(reward, discount_t, v_t)

    def td_error(self, observation: tf.Tensor, action: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        return losses.td_error(_q(self.networks["critic"], observation, action), target)

    def critic_loss(
        self, observation: tf.Tensor, action: tf.Tensor, target: tf.Tensor
    ) -> tf.Tensor:
        return losses.mse_loss(_q(self.networks["critic"], observation, action), target)

    def critic_gradients(
        self, observation: tf.Tensor, action: tf.Tensor, target: tf.Tensor
    ) -> tuple[tf.Tensor, Tensors]:
        with tf.GradientTape() as tape:
            loss = self.critic_loss(observation, action, target)
        return loss, self.gradients(tape, loss, "critic")

    def clip_critic(self, gradients: Mapping[str, tf.Tensor]) -> tuple[Tensors, tf.Tensor]:
        return self._clip(gradients)

    def apply_critic(self, gradients: Mapping[str, tf.Tensor]) -> None:
        self.optimizers["critic"].apply(gradients)

    def actor_loss(self, observation: tf.Tensor) -> tf.Tensor:
        action = self.networks["actor"](observation)
        return losses.dpg_actor_loss(_q(self.networks["critic"], observation, action))

    def actor_gradients(self, observation: tf.Tensor) -> tuple[tf.Tensor, Tensors]:
        with tf.GradientTape() as tape:
            loss = self.actor_loss(observation)
        return loss, self.gradients(tape, loss, "actor")

    def clip_actor(self, gradients: Mapping[str, tf.Tensor]) -> tuple[Tensors, tf.Tensor]:
        return self._clip(gradients)

    def apply_actor(self, gradients: Mapping[str, tf.Tensor]) -> None:
        self.optimizers["actor"].apply(gradients)

    def update_targets(self) -> None:
        self.update_target("critic", self.config.tau)
        self.update_target("actor", self.config.tau)

    def set_learning_rate(self, group: str, value: float) -> None:
        require_group(group, GROUPS)
        self.optimizers[group].set_learning_rate(value)

    def update(self, batch: Mapping[str, tf.Tensor], draws: Mapping[str, tf.Tensor]) -> Tensors:
        self.require(batch, draws, self._layouts, self.config.check_finite)
        self.step += 1
        made: Tensors = self._compiled_chain(*(batch[name] for name in self._layouts["batch"]))
        return made

    def _chain(
        self,
        observation: tf.Tensor,
        action: tf.Tensor,
        reward: tf.Tensor,
        next_observation: tf.Tensor,
        terminated: tf.Tensor,
        truncated: tf.Tensor,
    ) -> Tensors:
        """All links, in order."""
        made: Tensors = {}
        next_action = self.target_action(next_observation)
        made["target"] = self.target(reward, next_observation, next_action, terminated, truncated)
        made["critic_loss"], gradients = self.critic_gradients(observation, action, made["target"])
        if self.config.max_gradient_norm is not None:
            gradients, made["critic_norm"] = self.clip_critic(gradients)
        self.apply_critic(gradients)
        made["actor_loss"], gradients = self.actor_gradients(observation)
        if self.config.max_gradient_norm is not None:
            gradients, made["actor_norm"] = self.clip_actor(gradients)
        self.apply_actor(gradients)
        self.update_targets()
        return made

    def _clip(self, gradients: Mapping[str, tf.Tensor]) -> tuple[Tensors, tf.Tensor]:
        assert self.config.max_gradient_norm is not None
        return optimizers.clip_by_global_norm(gradients, self.config.max_gradient_norm)


def make_learner(
    config: DDPGConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> DDPG:
    return DDPG(config, dtype=dtype, device=device, variant=variant)


def _q(critic: networks.Network, observation: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    """Action values ``[B]``."""
    return tf.squeeze(critic(tf.concat([observation, action], axis=-1)), axis=-1)
