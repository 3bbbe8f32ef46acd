"""DDPG in NumPy, float64, as in algorithm 1 of the paper: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from impls.ddpg.config import DDPGConfig, initial_state
from impls.learner.config import require_variant, transition_layout
from impls.learner.numpy_ref import Array, Arrays, Learner
from impls.networks.config import require_dtype


class DDPG(Learner):
    def __init__(
        self, config: DDPGConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        require_dtype(dtype)
        require_variant("reference", variant)
        super().__init__(initial_state(config, np.random.default_rng(0)))
        self.config = config
        self.bounds = np.array(config.actor.bounds)

    def target_action(self, next_observation: Array) -> Array:
        return self._act("target/actor", next_observation)[0]

    def target(
        self,
        reward: Array,
        next_observation: Array,
        next_action: Array,
        terminated: Array,
        truncated: Array,
    ) -> Array:
        q = self._q("target/critic", next_observation, next_action)[0]
        # a time limit is no property of the task: only termination ends the sum
        return np.asarray(np.where(terminated, reward, reward + self.config.gamma * q))

    def td_error(self, observation: Array, action: Array, target: Array) -> Array:
        return target - self._q("param/critic", observation, action)[0]

    def critic_loss(self, observation: Array, action: Array, target: Array) -> Array:
        q = self._q("param/critic", observation, action)[0]
        return np.asarray(np.mean((target - q) ** 2))

    def critic_gradients(
        self, observation: Array, action: Array, target: Array
    ) -> tuple[Array, Arrays]:
        q, h = self._q("param/critic", observation, action)
        dq = -2.0 * (target - q) / len(q)
        gradients, _ = self.mlp_gradients("param/critic", h, dq[:, None])
        return np.asarray(np.mean((target - q) ** 2)), gradients

    def clip_critic(self, gradients: Arrays) -> tuple[Arrays, Array]:
        return self._clip(gradients)

    def apply_critic(self, gradients: Arrays) -> None:
        self.adam("critic", gradients, self.config.critic_weight_decay)

    def actor_loss(self, observation: Array) -> Array:
        action, _ = self._act("param/actor", observation)
        return np.asarray(-np.mean(self._q("param/critic", observation, action)[0]))

    def actor_gradients(self, observation: Array) -> tuple[Array, Arrays]:
        action, h_actor = self._act("param/actor", observation)
        q, h_critic = self._q("param/critic", observation, action)
        dq = np.full((len(q), 1), -1.0 / len(q))
        _, d_input = self.mlp_gradients("param/critic", h_critic, dq)
        d_action = d_input[:, observation.shape[1] :]
        d_output = d_action * self.bounds * (1.0 - (action / self.bounds) ** 2)
        gradients, _ = self.mlp_gradients("param/actor", h_actor, d_output)
        return np.asarray(-np.mean(q)), gradients

    def clip_actor(self, gradients: Arrays) -> tuple[Arrays, Array]:
        return self._clip(gradients)

    def apply_actor(self, gradients: Arrays) -> None:
        self.adam("actor", gradients)

    def update_targets(self) -> None:
        self.polyak("critic", self.config.tau)
        self.polyak("actor", self.config.tau)

    def update(self, batch: Mapping[str, Array], draws: Mapping[str, Array]) -> Arrays:
        c = self.config
        layout = transition_layout(c.observation_size, c.action_size, "float64")
        self.require(batch, draws, {"batch": layout, "draws": {}}, c.check_finite)
        self.values["step"] += 1
        s, a, s_next = batch["observation"], batch["action"], batch["next_observation"]
        made: Arrays = {}
        y = self.target(
            batch["reward"],
            s_next,
            self.target_action(s_next),
            batch["terminated"],
            batch["truncated"],
        )
        made["target"] = y
        made["critic_loss"], gradients = self.critic_gradients(s, a, y)
        if c.max_gradient_norm is not None:
            gradients, made["critic_norm"] = self.clip_critic(gradients)
        self.apply_critic(gradients)
        made["actor_loss"], gradients = self.actor_gradients(s)
        if c.max_gradient_norm is not None:
            gradients, made["actor_norm"] = self.clip_actor(gradients)
        self.apply_actor(gradients)
        self.update_targets()
        return made

    def _act(self, prefix: str, observation: Array) -> tuple[Array, list[Array]]:
        h = self.mlp(prefix, observation)
        return self.bounds * np.tanh(h[-1]), h

    def _q(self, prefix: str, observation: Array, action: Array) -> tuple[Array, list[Array]]:
        h = self.mlp(prefix, np.concatenate([observation, action], axis=1))
        return h[-1][:, 0], h

    def _clip(self, gradients: Arrays) -> tuple[Arrays, Array]:
        assert self.config.max_gradient_norm is not None
        return self.clip(gradients, self.config.max_gradient_norm)


def make_learner(
    config: DDPGConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> DDPG:
    return DDPG(config, dtype=dtype, device=device, variant=variant)
