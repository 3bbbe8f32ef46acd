"""What is timed: algorithms with their sizes, the data, the settings of a process.

No framework is imported here: every contender gets the same arrays, and makes of them its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from impls.a3c.config import PUSH
from impls.training.registry import LoopConfig, algorithm, configure
from impls.training.runs import Asked
from impls.training.worlds import World
from parity.random import Stream

STORED = 10_000
"""Transitions in the replay buffer while updates are timed."""
BATCHES = 4
"""Batches that updates of a held batch take in turns: one batch would stay in the cache."""


@dataclass(frozen=True)
class Case:
    """One algorithm on one environment, with one set of sizes.

    Attributes:
        settings: of the algorithm and of its loop, as ``impls train --set`` takes them.
        period: updates after which everything has run once (TD3's delayed part, say).
        peer: class of Stable-Baselines3, or an empty text where it has none.
        peer_settings: what makes it the same algorithm; sizes are taken from ``settings``.
        chunk: environment steps of one turn of the whole training loop.
    """

    algorithm: str
    env: str
    settings: Mapping[str, str]
    period: int = 1
    peer: str = ""
    peer_settings: Mapping[str, Any] = field(default_factory=dict)
    chunk: int = 100

    @property
    def name(self) -> str:
        return self.algorithm

    @property
    def on_policy(self) -> bool:
        return algorithm(self.algorithm).on_policy

    @property
    def workers(self) -> bool:
        """Whether an update is of one worker's rollout: A3C."""
        return algorithm(self.algorithm).workers

    def configs(self) -> tuple[Any, LoopConfig]:
        """The algorithm's configuration and its loop's."""
        world = World(self.env, Stream(0), 0)
        try:
            return configure(algorithm(self.algorithm), world.env, self.settings)
        finally:
            world.close()

    def asked(self, framework: str, compiled: bool, threads: int) -> Asked:
        return Asked(
            self.algorithm, framework, self.env, 0,
            compiled=compiled, threads=threads, settings=self.settings,
        )  # fmt: skip

    def sized(self, *, batch: int | None = None, width: int | None = None) -> Case:
        """The same with another batch or other hidden layers."""
        changes = {} if batch is None else {"batch_size": str(batch)}
        changes |= {} if width is None else {"hidden_sizes": f"{width},{width}"}
        return replace(self, settings={**self.settings, **changes})

    def plain(self) -> dict[str, Any]:
        """For JSON; ``Case(**plain)`` is the case."""
        return asdict(self)


HALF_CHEETAH = {
    "hidden_sizes": "256,256",
    "batch_size": "256",
    "capacity": str(STORED),
    "steps": "1000000",
    "learning_starts": "256",
    "actor_learning_rate": "3e-4",
    "critic_learning_rate": "3e-4",
    "tau": "0.005",
    "gamma": "0.99",
}
"""17 observations, 6 actions: the size that benchmarks of these algorithms are known by."""
CONTINUOUS = {"tau": 0.005, "gamma": 0.99, "learning_rate": 3e-4}
CART_POLE = {
    "environments": "8",
    "shared": "false",
    "hidden_sizes": "64,64",
    "steps": "1000000",
    "learning_rate_end": "1",
}

CASES: Mapping[str, Case] = {
    case.algorithm: case
    for case in (
        Case(
            "td3",
            "HalfCheetah-v5",
            HALF_CHEETAH,
            period=2,
            peer="TD3",
            peer_settings={
                **CONTINUOUS,
                "policy_delay": 2,
                "target_policy_noise": 0.2,
                "target_noise_clip": 0.5,
            },
        ),
        Case(
            "ddpg",
            "HalfCheetah-v5",
            {**HALF_CHEETAH, "critic_weight_decay": "0"},
            peer="DDPG",
            peer_settings=CONTINUOUS,
        ),
        Case(
            "sac",
            "HalfCheetah-v5",
            HALF_CHEETAH,
            peer="SAC",
            peer_settings={**CONTINUOUS, "ent_coef": "auto", "target_entropy": "auto"},
        ),
        Case(
            "dqn",
            "CartPole-v1",
            {
                "hidden_sizes": "64,64",
                "batch_size": "64",
                "capacity": str(STORED),
                "steps": "1000000",
                "learning_starts": "256",
                "learning_rate": "1e-3",
                "learning_rate_end": "1",
                "double": "false",
                "epsilon_steps": "1",
                "epsilon_end": "0.05",
                "target_period": "250",
            },
            peer="DQN",
            peer_settings={
                "learning_rate": 1e-3,
                "exploration_initial_eps": 0.05,
                "exploration_final_eps": 0.05,
                "target_update_interval": 250,
                "max_grad_norm": 10.0,
                "gamma": 0.99,
            },
            chunk=250,
        ),
        Case(
            "a2c",
            "CartPole-v1",
            {**CART_POLE, "rollout": "16", "optimizer": "rmsprop", "learning_rate": "7e-4"},
            peer="A2C",
            peer_settings={
                "gae_lambda": 1.0,
                "ent_coef": 0.01,
                "vf_coef": 0.25,  # ours has a half inside of the loss
                "max_grad_norm": 0.5,
                "learning_rate": 7e-4,
                "gamma": 0.99,
            },
            chunk=640,
        ),
        Case(
            "ppo",
            "CartPole-v1",
            {**CART_POLE, "rollout": "64", "epochs": "6", "minibatches": "4",
             "learning_rate": "3e-4", "entropy_coefficient": "0.01"},
            peer="PPO",
            peer_settings={
                "n_epochs": 6,
                "gae_lambda": 0.95,
                "clip_range": 0.2,
                "ent_coef": 0.01,
                "vf_coef": 0.25,
                "max_grad_norm": 0.5,
                "learning_rate": 3e-4,
                "gamma": 0.99,
            },
            chunk=512,
        ),
        # one worker's update: it pulls, computes the gradients of its rollout, and pushes them
        Case(
            "a3c",
            "CartPole-v1",
            {**{name: value for name, value in CART_POLE.items() if name != "environments"},
             "workers": "8", "rollout": "16", "optimizer": "rmsprop", "learning_rate": "7e-4"},
            chunk=640,
        ),
        Case("actor_critic", "CartPole-v1", {**CART_POLE, "rollout": "1"}, chunk=400),
        Case("reinforce", "CartPole-v1", {**CART_POLE, "hidden_sizes": "64"}, chunk=400),
    )
}  # fmt: skip


def transitions(config: Any, rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Made-up transitions, float32; one in twenty ends."""
    rng = np.random.default_rng(seed)
    shape = (rows, config.observation_size)
    return {
        "observation": rng.standard_normal(shape, np.float32),
        "action": _actions(config, rng, (rows,), hasattr(config, "max_action")),
        "reward": rng.standard_normal(rows, np.float32),
        "next_observation": rng.standard_normal(shape, np.float32),
        "terminated": rng.random(rows) < 0.03,
        "truncated": rng.random(rows) < 0.02,
    }


def rollout(case: Case, config: Any, loop: LoopConfig, seed: int = 0) -> dict[str, np.ndarray]:
    """A made-up rollout ``[T, B, ...]``, with what the algorithm's batches have on top."""
    rng = np.random.default_rng(seed)
    episodes = algorithm(case.algorithm).episodes
    steps = 500 if episodes else loop.rollout  # CartPole's time limit: episodes are padded to it
    shape = (steps, 1 if case.workers else loop.environments)
    batch = {
        "observation": rng.standard_normal((*shape, config.observation_size), np.float32),
        "action": _actions(config, rng, shape, config.continuous),
        "reward": rng.standard_normal(shape, np.float32),
        "next_observation": rng.standard_normal((*shape, config.observation_size), np.float32),
        "terminated": rng.random(shape) < 0.03,
        "truncated": rng.random(shape) < 0.02,
    }
    if case.algorithm == "ppo":
        batch["log_prob"] = np.full(shape, -np.log(config.action_size), np.float32)
    if episodes:
        lengths = rng.integers(100, steps, loop.environments)
        batch["valid"] = np.arange(steps)[:, None] < lengths
        batch["terminated"] &= False
        batch["truncated"] &= False
        for episode, length in enumerate(lengths):
            batch["terminated"][length - 1, episode] = True
    return batch


def draws(case: Case, config: Any, batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The random arrays that an update takes besides its batch."""
    rng = np.random.default_rng(1)
    if case.workers:
        return {"worker": np.array(0, np.int64), "event": np.array(PUSH, np.int64)}
    made = {}
    for name, kind in algorithm(case.algorithm).draws.items():
        if kind == "permutation":
            rows = batch["reward"].size
            made[name] = np.stack([rng.permutation(rows) for _ in range(config.epochs)])
        else:
            made[name] = rng.standard_normal(batch["action"].shape, np.float32)
    return made


def _actions(
    config: Any, rng: np.random.Generator, shape: tuple[int, ...], continuous: bool
) -> np.ndarray:
    if continuous:
        return rng.uniform(-1, 1, (*shape, config.action_size)).astype(np.float32)
    return rng.integers(config.action_size, size=shape)


def environment(threads: int, device: str, name: str = "") -> dict[str, str]:
    """Variables that fix the threads of every framework; they are read when one starts.

    Args:
        name: the contender. A graph of TensorFlow takes its threads for operations side by side,
            of one thread each: the twin critics and what else does not wait for one another. XLA
            and single operations share the threads within an operation.
    """
    count = str(threads)
    side_by_side = name == "tf-function"
    return {
        **os.environ,
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "TF_NUM_INTRAOP_THREADS": "1" if side_by_side else count,
        "TF_NUM_INTEROP_THREADS": count if side_by_side else "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TORCHINDUCTOR_VEC_ISA_OK": "1",  # no probe programs, which are no part of compiling a step
        "JAX_PLATFORMS": "cpu" if device == "cpu" else "",
        **({"CUDA_VISIBLE_DEVICES": "-1"} if device == "cpu" else {}),
    }
