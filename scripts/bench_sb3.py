"""Contender: Stable-Baselines3, the same algorithm with the same sizes and the same data."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from scripts.bench_cases import STORED, Case, rollout, transitions
from scripts.bench_ours import Clock, Contender, imported


class StableBaselines(Contender):
    """Its own ``train()`` and ``learn()``.

    ``train()`` draws from the buffer, updates and reads the losses for its log; ours is compared as
    it trains too, with the drawing. Several updates are asked of one call, which is to its
    advantage. On policy it evaluates values while acting, ours in the update: what it computes
    between acting and ``train()`` is timed, the forward pass itself is not, again to its advantage.
    """

    can = ("train", "loop")

    def __init__(self, device: str, clock: Clock) -> None:
        self.device, self.clock = device, clock
        # its logger would import tensorboard, and that TensorFlow: 400 MB that are not its own
        sys.modules.setdefault("tensorboard", None)  # type: ignore[arg-type]
        self.library = imported("stable_baselines3")

    def prepare(self, case: Case) -> dict[str, Any]:
        if not case.peer:
            return {"absent": "not in Stable-Baselines3"}
        if self.library is None:
            return {"absent": "not installed"}
        self.case = case
        self.config, self.settings = case.configs()
        kind = getattr(self.library, case.peer)
        self.model = kind("MlpPolicy", self._env(), device=self.device, **self._arguments())
        self.model.set_logger(_silent())
        self._fill()
        first = self.clock(lambda: self._train(case.period))
        # the environment's first reset, outside of what is timed
        self.model.learn(max(8, self._steps_of_one_update()), reset_num_timesteps=False)
        return {"first_call": first, "parameters": self._parameters()}

    def run(self, what: str, count: int) -> float:
        if what == "train":
            return self.clock(lambda: self._train(count))
        return self.clock(lambda: self.model.learn(count, reset_num_timesteps=False))

    def _env(self) -> Any:
        """Its usual vector of monitored environments; observations as float32, like ours."""
        import gymnasium
        from stable_baselines3.common.env_util import make_vec_env

        wrap = None
        if gymnasium.make(self.case.env).observation_space.dtype != np.float32:

            def wrap(env: Any) -> Any:
                return gymnasium.wrappers.DtypeObservation(env, np.float32)

        return make_vec_env(
            self.case.env, n_envs=self.settings.environments, seed=0, wrapper_class=wrap
        )

    def _arguments(self) -> dict[str, Any]:
        sizes = list(self.config.hidden_sizes)
        policy: dict[str, Any] = {"net_arch": sizes}
        arguments = dict(self.case.peer_settings)
        if self.case.on_policy:
            policy["net_arch"] = {"pi": sizes, "vf": sizes}
            arguments["n_steps"] = self.settings.rollout
            if self.case.algorithm == "ppo":
                rows = self.settings.rollout * self.settings.environments
                arguments["batch_size"] = rows // self.config.minibatches
        else:
            arguments |= {
                "batch_size": self.settings.batch_size,
                "buffer_size": self.settings.capacity,
                "learning_starts": self.settings.learning_starts,
                "train_freq": self.settings.train_every,
                "gradient_steps": self.settings.updates,
            }
        return {**arguments, "policy_kwargs": policy, "verbose": 0}

    def _fill(self) -> None:
        if self.case.on_policy:
            self.rollout = rollout(self.case, self.config, self.settings)
            return
        rows, buffer = transitions(self.config, STORED), self.model.replay_buffer
        buffer.observations[:, 0] = rows["observation"]
        buffer.next_observations[:, 0] = rows["next_observation"]
        buffer.actions[:, 0] = rows["action"].reshape(STORED, -1)
        buffer.rewards[:, 0] = rows["reward"]
        buffer.dones[:, 0] = rows["terminated"] | rows["truncated"]
        buffer.timeouts[:, 0] = rows["truncated"] & ~rows["terminated"]
        buffer.pos, buffer.full = 0, True
        self.model.num_timesteps = STORED

    def _train(self, count: int) -> None:
        if not self.case.on_policy:
            self.model.train(gradient_steps=count, batch_size=self.settings.batch_size)
            return
        for _ in range(count):
            self._refill()
            self.model.train()

    def _refill(self) -> None:
        """The rollout as it is after acting, and the advantages that it computes from it."""
        import torch

        buffer, rows = self.model.rollout_buffer, self.rollout
        shape = rows["reward"].shape
        buffer.observations = rows["observation"]
        buffer.actions = rows["action"].reshape(*shape, -1)
        buffer.rewards = rows["reward"]
        buffer.episode_starts = rows["terminated"].astype(np.float32)
        buffer.values = np.zeros(shape, np.float32)
        buffer.log_probs = rows.get("log_prob", buffer.values)
        buffer.advantages = np.empty(shape, np.float32)
        buffer.generator_ready, buffer.full = False, True
        ends = np.zeros(shape[1], bool)
        buffer.compute_returns_and_advantage(torch.zeros(shape[1], 1), ends)

    def _steps_of_one_update(self) -> int:
        each = self.settings.rollout if self.case.on_policy else 1
        return int(each * self.settings.environments)

    def _parameters(self) -> int:
        """As many as ours, or it is another network; targets do not learn."""
        policy = self.model.policy
        count = sum(p.numel() for name, p in policy.named_parameters() if "target" not in name)
        return int(count) + int(getattr(self.model, "log_ent_coef", None) is not None)


def _silent() -> Any:
    from stable_baselines3.common.logger import Logger

    return Logger(folder=None, output_formats=[])
