"""SAC in NumPy, float64, with gradients written out: see ``spec.py`` for the contract."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from impls.learner.config import require_variant, transition_layout
from impls.learner.numpy_ref import Array, Arrays, Learner
from impls.networks.config import require_dtype
from impls.sac.config import SACConfig, initial_state


class SAC(Learner):
    def __init__(
        self, config: SACConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        require_dtype(dtype)
        require_variant("reference", variant)
        super().__init__(initial_state(config, np.random.default_rng(0)))
        self.config = config
        self.bounds = np.array(config.bounds)

    def act(self, observation: Array, draws: Mapping[str, Array]) -> Arrays:
        return {"action": self.sample(observation, draws["noise"])[0]}

    def greedy(self, observation: Array) -> Array:
        mean = self.mlp("param/actor", observation)[-1][:, : self.config.action_size]
        return np.asarray(self.bounds * np.tanh(mean))

    def alpha(self) -> Array:
        return np.asarray(np.exp(self.values["param/temperature/log_alpha"]))

    def sample(self, observation: Array, noise: Array) -> tuple[Array, Array]:
        mean, log_std = self._policy(self.mlp("param/actor", observation)[-1])
        u = mean + np.exp(log_std) * noise
        density = -(noise**2) / 2.0 - log_std - math.log(2.0 * math.pi) / 2.0
        # a = bound * tanh(u), so that da/du = bound / cosh(u)^2
        log_slope = np.log(self.bounds) - 2.0 * (np.logaddexp(u, -u) - math.log(2.0))
        return self.bounds * np.tanh(u), np.sum(density - log_slope, axis=1)

    def target(
        self,
        reward: Array,
        next_observation: Array,
        next_action: Array,
        next_log_prob: Array,
        alpha: Array,
        terminated: Array,
        truncated: Array,
    ) -> Array:
        q1 = self._q("target/critic/q1", next_observation, next_action)[0]
        q2 = self._q("target/critic/q2", next_observation, next_action)[0]
        soft_value = np.where(q1 < q2, q1, q2) - alpha * next_log_prob
        # a time limit is no property of the task: only termination ends the sum
        return np.where(terminated, reward, reward + self.config.gamma * soft_value)

    def td_error(self, observation: Array, action: Array, target: Array) -> tuple[Array, Array]:
        q1 = self._q("param/critic/q1", observation, action)[0]
        q2 = self._q("param/critic/q2", observation, action)[0]
        return target - q1, target - q2

    def critic_loss(self, observation: Array, action: Array, target: Array) -> Array:
        error1, error2 = self.td_error(observation, action, target)
        return np.asarray(np.mean(error1**2 + error2**2) / 2.0)

    def critic_gradients(
        self, observation: Array, action: Array, target: Array
    ) -> tuple[Array, Arrays]:
        gradients: Arrays = {}
        for q_name in ("q1", "q2"):
            prefix = f"param/critic/{q_name}"
            q, h = self._q(prefix, observation, action)
            found, _ = self.mlp_gradients(prefix, h, ((q - target) / len(q))[:, None])
            gradients |= {f"{q_name}/{name}": g for name, g in found.items()}
        return self.critic_loss(observation, action, target), gradients

    def clip_critic(self, gradients: Arrays) -> tuple[Arrays, Array]:
        return self._clip(gradients)

    def apply_critic(self, gradients: Arrays) -> None:
        self.adam("critic", gradients)

    def actor_loss(self, observation: Array, noise: Array, alpha: Array) -> Array:
        action, log_prob = self.sample(observation, noise)
        q1 = self._q("param/critic/q1", observation, action)[0]
        q2 = self._q("param/critic/q2", observation, action)[0]
        return np.asarray(np.mean(alpha * log_prob - np.where(q1 < q2, q1, q2)))

    def actor_gradients(
        self, observation: Array, noise: Array, alpha: Array
    ) -> tuple[Array, Array, Arrays]:
        """The chain rule through a = bound * tanh(u), u = mean + exp(log_std) * noise.

        ``d log_prob / du = 2 tanh(u)``, ``d log_prob / d log_std = 2 tanh(u) du/d log_std - 1``
        """
        h = self.mlp("param/actor", observation)
        mean, log_std = self._policy(h[-1])
        scale = np.exp(log_std) * noise
        squashed, share = np.tanh(mean + scale), alpha / len(noise)
        d_action = self._value_gradient(observation, self.bounds * squashed)
        d_u = share * 2.0 * squashed - d_action * self.bounds * (1.0 - squashed**2)
        raw = h[-1][:, self.config.action_size :]
        inside = (raw >= self.config.log_std_min) & (raw <= self.config.log_std_max)
        d_log_std = (d_u * scale - share) * inside
        d_output = np.concatenate([d_u, d_log_std], axis=1)
        gradients, _ = self.mlp_gradients("param/actor", h, d_output)
        loss = self.actor_loss(observation, noise, alpha)
        return loss, self.sample(observation, noise)[1], gradients

    def clip_actor(self, gradients: Arrays) -> tuple[Arrays, Array]:
        return self._clip(gradients)

    def apply_actor(self, gradients: Arrays) -> None:
        self.adam("actor", gradients)

    def temperature_loss(self, log_prob: Array) -> Array:
        excess = np.mean(-log_prob) - self.config.entropy
        return np.asarray(self.alpha() * excess)

    def temperature_gradients(self, log_prob: Array) -> tuple[Array, Arrays]:
        # alpha = exp(log_alpha) is its own derivative, so that the loss is its own gradient
        loss = self.temperature_loss(log_prob)
        return loss, {"log_alpha": loss}

    def apply_temperature(self, gradients: Arrays) -> None:
        self.adam("temperature", gradients)

    def update_targets(self) -> None:
        self.polyak("critic", self.config.tau)

    def update(self, batch: Mapping[str, Array], draws: Mapping[str, Array]) -> Arrays:
        c = self.config
        layout = transition_layout(c.observation_size, c.action_size, "float64")
        shapes = {"noise": layout["action"], "next_noise": layout["action"]}
        self.require(batch, draws, {"batch": layout, "draws": shapes}, c.check_finite)
        self.values["step"] += 1
        s, a, s_next = batch["observation"], batch["action"], batch["next_observation"]
        ends = batch["terminated"], batch["truncated"]
        alpha = self.alpha()
        y = self.target(
            batch["reward"], s_next, *self.sample(s_next, draws["next_noise"]), alpha, *ends
        )
        made: Arrays = {"alpha": alpha, "target": y}
        made["critic_loss"], gradients = self.critic_gradients(s, a, y)
        if c.max_gradient_norm is not None:
            gradients, made["critic_norm"] = self.clip_critic(gradients)
        self.apply_critic(gradients)
        made["actor_loss"], log_prob, gradients = self.actor_gradients(s, draws["noise"], alpha)
        if c.max_gradient_norm is not None:
            gradients, made["actor_norm"] = self.clip_actor(gradients)
        self.apply_actor(gradients)
        if c.learn_temperature:
            made["temperature_loss"], gradients = self.temperature_gradients(log_prob)
            self.apply_temperature(gradients)
        self.update_targets()
        return made

    def _policy(self, output: Array) -> tuple[Array, Array]:
        """Mean and clipped logarithm of the standard deviation, before squashing."""
        c = self.config
        mean, log_std = output[:, : c.action_size], output[:, c.action_size :]
        return mean, np.minimum(np.maximum(log_std, c.log_std_min), c.log_std_max)

    def _value_gradient(self, observation: Array, action: Array) -> Array:
        """Gradient of ``mean min(Q1, Q2)`` for the action; of equal critics, the first counts."""
        (q1, h1), (q2, h2) = (
            self._q(f"param/critic/{name}", observation, action) for name in ("q1", "q2")
        )
        first = (q1 <= q2)[:, None] / len(q1)
        second = (q1 > q2)[:, None] / len(q1)
        _, d_input1 = self.mlp_gradients("param/critic/q1", h1, first)
        _, d_input2 = self.mlp_gradients("param/critic/q2", h2, second)
        return np.asarray((d_input1 + d_input2)[:, observation.shape[1] :])

    def _q(self, prefix: str, observation: Array, action: Array) -> tuple[Array, list[Array]]:
        h = self.mlp(prefix, np.concatenate([observation, action], axis=1))
        return h[-1][:, 0], h

    def _clip(self, gradients: Arrays) -> tuple[Arrays, Array]:
        assert self.config.max_gradient_norm is not None
        return self.clip(gradients, self.config.max_gradient_norm)


def make_learner(
    config: SACConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> SAC:
    return SAC(config, dtype=dtype, device=device, variant=variant)
