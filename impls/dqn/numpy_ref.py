"""DQN in NumPy, float64, as in algorithm 1 of the paper: see ``spec.py`` for the contract."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from impls.dqn.config import DQNConfig, batch_layout, initial_state
from impls.errors import DtypeError, ShapeError
from impls.learner.config import require_variant
from impls.learner.numpy_ref import Array, Arrays, Learner
from impls.networks.config import require_dtype


class DQN(Learner):
    def __init__(
        self, config: DQNConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
    ) -> None:
        require_dtype(dtype)
        require_variant("reference", variant)
        super().__init__(initial_state(config, np.random.default_rng(0)))
        self.config = config

    def act(self, observation: Array, draws: Mapping[str, Array]) -> Arrays:
        q = self.mlp("param/q", observation)[-1]
        action = np.array([np.argmax(row) for row in q])
        explore = draws["uniform"] < draws["epsilon"]
        return {"action": np.where(explore, draws["random_action"], action).astype(np.int64)}

    def greedy(self, observation: Array) -> Array:
        return np.array([np.argmax(row) for row in self.mlp("param/q", observation)[-1]], np.int64)

    def target(
        self,
        reward: Array,
        next_observation: Array,
        terminated: Array,
        truncated: Array,
        steps: Array | None = None,
    ) -> Array:
        valued = self.mlp("target/q", next_observation)[-1]
        chooses = self.mlp("param/q", next_observation)[-1] if self.config.double else valued
        y = np.empty(len(reward))
        for b in range(len(reward)):
            gamma = self.config.gamma ** (1 if steps is None else int(steps[b]))
            # a time limit is no property of the task: only termination ends the sum
            following = 0.0 if terminated[b] else valued[b, np.argmax(chooses[b])]
            y[b] = reward[b] + gamma * following
        return y

    def td_error(self, observation: Array, action: Array, target: Array) -> Array:
        return target - self._chosen(observation, action)[0]

    def loss(
        self, observation: Array, action: Array, target: Array, weight: Array | None = None
    ) -> Array:
        return np.asarray(
            np.mean(self._losses(self._chosen(observation, action)[0], target, weight))
        )

    def loss_gradients(
        self, observation: Array, action: Array, target: Array, weight: Array | None = None
    ) -> tuple[Array, Arrays]:
        q, h = self._chosen(observation, action)
        slope = np.clip(q - target, -self.config.huber_delta, self.config.huber_delta)
        slope = slope * (1.0 if weight is None else weight) / len(q)
        dq = np.zeros((len(q), self.config.action_size))
        dq[np.arange(len(q)), action] = slope
        gradients, _ = self.mlp_gradients("param/q", h, dq)
        return np.asarray(np.mean(self._losses(q, target, weight))), gradients

    def clip_gradients(self, gradients: Arrays) -> tuple[Arrays, Array]:
        assert self.config.max_gradient_norm is not None
        return self.clip(gradients, self.config.max_gradient_norm)

    def apply_gradients(self, gradients: Arrays) -> None:
        self.adam("q", gradients)

    def update_target(self) -> None:
        self.polyak("q", self.config.tau)

    def update(self, batch: Mapping[str, Array], draws: Mapping[str, Array]) -> Arrays:
        c = self.config
        layouts = {"batch": batch_layout(c, "float64"), "draws": {}}
        self.require(batch, draws, layouts, c.check_finite)
        self.values["step"] += 1
        s, a = batch["observation"], batch["action"]
        made: Arrays = {}
        made["target"] = y = self.target(
            batch["reward"],
            batch["next_observation"],
            batch["terminated"],
            batch["truncated"],
            batch.get("steps"),
        )
        made["td_error"] = self.td_error(s, a, y)
        made["loss"], gradients = self.loss_gradients(s, a, y, batch.get("weight"))
        if c.max_gradient_norm is not None:
            gradients, made["gradient_norm"] = self.clip_gradients(gradients)
        self.apply_gradients(gradients)
        if int(self.values["step"]) % c.target_period == 0:
            self.update_target()
        return made

    def _chosen(self, observation: Array, action: Array) -> tuple[Array, list[Array]]:
        h = self.mlp("param/q", observation)
        if np.shape(action) != (len(observation),):
            raise ShapeError(f"action has shape {np.shape(action)}, expected [B]")
        if np.asarray(action).dtype != np.int64:
            raise DtypeError(f"action is {np.asarray(action).dtype}, expected int64")
        return np.array([h[-1][b, a] for b, a in enumerate(action)]), h

    def _losses(self, q: Array, target: Array, weight: Array | None) -> Array:
        delta = self.config.huber_delta
        error = np.abs(q - target)
        each = np.where(error <= delta, 0.5 * error**2, delta * (error - 0.5 * delta))
        return each if weight is None else each * weight


def make_learner(
    config: DQNConfig, *, dtype: str, device: str = "cpu", variant: str = "eager"
) -> DQN:
    return DQN(config, dtype=dtype, device=device, variant=variant)
