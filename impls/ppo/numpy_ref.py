"""PPO in NumPy, float64, row by row as on paper: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from impls.learner.numpy_ref import Array, Arrays
from impls.learner.on_policy_ref import OnPolicyLearner, flat
from impls.ppo.config import PPOConfig, require_orders, require_permutation


class PPO(OnPolicyLearner):
    def __init__(
        self, config: PPOConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        super().__init__(config, dtype=dtype, variant=variant, log_prob=dtype)
        self._layouts = {**self._layouts, "draws": {"permutation": ((), "int64")}}

    def value_estimates(self, observation: Array, next_observation: Array) -> tuple[Array, Array]:
        return self.state_values(observation), self.state_values(next_observation)

    def advantage(
        self, reward: Array, value: Array, next_value: Array, terminated: Array, truncated: Array
    ) -> tuple[Array, Array]:
        c, advantage = self.config, np.zeros_like(reward)
        steps, environments = reward.shape
        for b in range(environments):
            following = 0.0
            for t in reversed(range(steps)):
                discount = 0.0 if terminated[t, b] else c.gamma
                if truncated[t, b]:
                    following = 0.0
                delta = reward[t, b] + discount * next_value[t, b] - value[t, b]
                following = delta + discount * c.gae_lambda * following
                advantage[t, b] = following
        return advantage, advantage + value

    def flatten(
        self,
        observation: Array,
        action: Array,
        log_prob: Array,
        value: Array,
        advantage: Array,
        target: Array,
    ) -> tuple[Array, ...]:
        return tuple(map(flat, (observation, action, log_prob, value, advantage, target)))

    def gather(
        self,
        permutation: Array,
        flat_observation: Array,
        flat_action: Array,
        flat_log_prob: Array,
        flat_value: Array,
        flat_advantage: Array,
        flat_target: Array,
    ) -> tuple[Array, ...]:
        parts = [part for order in permutation for part in np.split(order, self.config.minibatches)]
        fields = (flat_observation, flat_action, flat_log_prob)
        fields += (flat_value, flat_advantage, flat_target)
        return tuple(np.array([[x[i] for i in part] for part in parts]) for x in fields)

    def minibatch(
        self,
        all_observation: Array,
        all_action: Array,
        all_log_prob: Array,
        all_value: Array,
        all_advantage: Array,
        all_target: Array,
        k: int = 0,
    ) -> tuple[Array, ...]:
        fields = (all_observation, all_action, all_log_prob, all_value, all_advantage, all_target)
        return tuple(x[k] for x in fields)

    def normalize(self, mb_advantage: Array) -> Array:
        centred = mb_advantage - mb_advantage.sum() / mb_advantage.size
        return np.asarray(centred / (np.sqrt(np.mean(centred**2)) + 1e-8))

    def loss(
        self,
        mb_observation: Array,
        mb_action: Array,
        mb_log_prob: Array,
        mb_value: Array,
        mb_advantage: Array,
        mb_target: Array,
    ) -> tuple[Array, Array, Array, Array]:
        made = self.forward(mb_observation)
        gains, _ = self._gains(self.log_prob(made, mb_action) - mb_log_prob, mb_advantage)
        errors, _ = self._value_errors(made["value"], mb_value, mb_target)
        policy, value, entropy = -np.mean(gains), np.mean(errors), self.entropy(made)
        c = self.config
        loss = policy + c.value_coefficient * value - c.entropy_coefficient * entropy
        return np.asarray(loss), np.asarray(policy), np.asarray(value), entropy

    def gradients_of(
        self,
        mb_observation: Array,
        mb_action: Array,
        mb_log_prob: Array,
        mb_value: Array,
        mb_advantage: Array,
        mb_target: Array,
    ) -> tuple[Array, Array, Array, Array, Arrays]:
        c, rows, made = self.config, len(mb_target), self.forward(mb_observation)
        _, slopes = self._gains(self.log_prob(made, mb_action) - mb_log_prob, mb_advantage)
        _, pulls = self._value_errors(made["value"], mb_value, mb_target)
        gradients = self.backward(
            made,
            mb_action,
            of_log_prob=-slopes / rows,
            of_entropy=np.full(rows, -c.entropy_coefficient / rows),
            of_value=c.value_coefficient * pulls / rows,
        )
        fields = (mb_observation, mb_action, mb_log_prob, mb_value, mb_advantage, mb_target)
        return *self.loss(*fields), gradients

    def update(self, batch: Mapping[str, Array], draws: Mapping[str, Array]) -> Arrays:
        c, permutation = self.config, draws.get("permutation")
        self.require_batch(batch, draws)
        assert permutation is not None
        require_permutation(c, batch["reward"].shape, permutation.shape)
        if c.check_finite:
            require_orders(permutation)
        self.values["step"] += 1
        value, next_value = self.value_estimates(batch["observation"], batch["next_observation"])
        ends = (batch["terminated"], batch["truncated"])
        advantage, target = self.advantage(batch["reward"], value, next_value, *ends)
        given = (batch["observation"], batch["action"], batch["log_prob"])
        everything = self.gather(permutation, *self.flatten(*given, value, advantage, target))
        steps = [
            self._step(*self.minibatch(*everything, k=k)) for k in range(c.epochs * c.minibatches)
        ]
        stacked = {name: np.array([step[name] for step in steps]) for name in steps[0]}
        return {"advantage": advantage, "target": target} | stacked

    def _step(
        self, s: Array, a: Array, log_prob: Array, value: Array, advantage: Array, target: Array
    ) -> Arrays:
        """One minibatch."""
        if self.config.normalize_advantage:
            advantage = self.normalize(advantage)
        fields = (s, a, log_prob, value, advantage, target)
        loss, policy, of_value, entropy, gradients = self.gradients_of(*fields)
        made = {"loss": loss, "policy_loss": policy, "value_loss": of_value, "entropy": entropy}
        if self.config.max_gradient_norm is not None:
            gradients, made["gradient_norm"] = self.clip(gradients)
        self.apply(gradients)
        return made

    def _gains(self, difference: Array, advantage: Array) -> tuple[Array, Array]:
        """``min(ratio * A, clip(ratio) * A)`` of each row, and its slope in ``log pi``."""
        clip = self.config.ratio_clip
        ratio = np.exp(difference)
        limit = np.where(advantage >= 0.0, 1.0 + clip, 1.0 - clip)
        free = np.where(advantage >= 0.0, ratio <= limit, ratio >= limit)
        gains = np.where(free, ratio, limit) * advantage
        return gains, np.where(free, ratio * advantage, 0.0)

    def _value_errors(self, v: Array, old: Array, target: Array) -> tuple[Array, Array]:
        """Half the squared error of each row, the larger one with clipping; its slope in v."""
        free = (v - target) ** 2 / 2.0
        if self.config.value_clip is None:
            return free, v - target
        moved = np.minimum(
            np.maximum(v, old - self.config.value_clip), old + self.config.value_clip
        )
        kept = (moved - target) ** 2 / 2.0
        return np.maximum(free, kept), np.where(free >= kept, v - target, 0.0)


def make_learner(
    config: PPOConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> PPO:
    return PPO(config, dtype=dtype, device=device, variant=variant)
