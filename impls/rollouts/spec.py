"""Rollouts: a policy, and the loop that steps an environment with it across episode ends.

The loop is where ports part without an error: which observation is stored at an episode's end, what
counts as terminated, how the next episode is seeded, and in which dtype an action travels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from impls.environments import Environment, make_environment, random_state
from impls.errors import (
    ConfigError,
    DtypeError,
    NonFiniteError,
    ShapeError,
    UnknownEnvironmentError,
)
from impls.networks.config import ActorConfig, MLPConfig, initial_parameters
from impls.rollouts.config import PolicyConfig, Transition
from impls.rollouts.mutants import MUTANTS
from parity.checks.rollout import EnvironmentCheck, RolloutCheck
from parity.component import DTYPES, Check, Component, ErrorCase, Side
from parity.tolerance import Tolerance

__all__ = ["COMPONENT", "Collector", "Policy", "PolicyConfig", "Transition"]


class Policy:
    """A deterministic policy, with optional Gaussian exploration from given draws.

    Continuous: ``action = clip(actor(observation) + sigma * max_action * noise, -max_action,
    max_action)``. Discrete: ``action = argmax(mlp(observation))``, the first one at a tie.

    Source: Fujimoto et al. 2018 (TD3), algorithm 1 and appendix C; Sutton & Barto 2018, 2.2
    (greedy).

    Args:
        config: the network and the noise.
        parameters: canonical name -> array; kernels ``[in, out]``.
        dtype: ``float32`` or ``float64``: of the network, the observation it sees and the action.
        device: where the network lives.

    Raises:
        DtypeError: another dtype.
        ConfigError, ShapeError: ``parameters`` are not those of the network.
    """

    def __init__(
        self,
        config: PolicyConfig,
        parameters: Mapping[str, np.ndarray],
        *,
        dtype: str,
        device: str = "cpu",
    ) -> None: ...

    def output(self, observation: Any) -> Any:
        """The network's answer: the action before noise ``[act]``, or a score per action.

        Args:
            observation: ``[obs]``, any floating dtype; rounded to the policy's.

        Raises:
            ShapeError: not one row of the network's size.
            NonFiniteError: NaN or infinity; the message names the first index.
        """

    def act(self, observation: Any, noise: Any = None) -> Any:
        """The action: ``[act]`` in the policy's dtype and the environment's unit, or int64 scalar.

        No gradient is recorded.

        Args:
            observation: ``[obs]``.
            noise: standard normal draws ``[act]``, given exactly when ``sigma`` is above 0.

        Raises:
            ConfigError: a draw without ``sigma``, or ``sigma`` without a draw.
            ShapeError, NonFiniteError: as in :meth:`output`, of the noise too.
        """


class Collector:
    """Steps one environment with a policy; episodes follow each other.

    Episode ``k`` begins with ``environment.reset(seed=seed + k)``: no global seed, and any episode
    can be repeated by itself.

    Args:
        environment: has ``reset(seed=...)`` and ``step(action)`` as gymnasium's.
        policy: of the same sibling.
        seed: of the first episode.

    Attributes:
        observation: what the policy will see next: the reset observation after an end.
        episode: how many episodes have ended.
    """

    def __init__(self, environment: Any, policy: Policy, *, seed: int) -> None: ...

    def step(self, noise: Any = None, *, action: Any = None) -> Transition:
        """One step; resets the environment where the episode ends.

        Args:
            noise: draws for the policy.
            action: applied instead of the policy's, which is then not asked.

        Returns:
            The transition. At an end ``next_observation`` is the episode's last observation, not
            the reset one, so that bootstrapping after a truncation sees the right state.

        Conventions: the action travels in the policy's dtype. ``impls.environments`` hands it on
        as float64 (exact), since Pendulum and HalfCheetah compute the reward in the action's dtype.
        """


# Weights are fan-in uniform. At that size the closed loops are stable enough for float32; times 3
# HalfCheetah is chaotic: see its case.


def _policy(
    env_id: str, *, weights: int, sigma: float, scale: float, api: str
) -> Callable[[Side], Any]:
    def make(side: Side) -> Any:
        environment = make_environment(env_id, api=api)
        config = policy_config(environment, sigma)
        environment.close()
        values = initial_parameters(config.network, np.random.default_rng(weights))
        # without biases the greedy policy changes its action with the observation, at once
        factor = {"kernel": scale, "bias": 0.0 if config.greedy else 1.0}
        values = {name: v * factor[name.rpartition("/")[2]] for name, v in values.items()}
        return side.impl.Policy(config, values, dtype=side.dtype, device=side.device)

    return make


def policy_config(environment: Environment, sigma: float = 0.0) -> PolicyConfig:
    """A 32-16 policy for an environment: greedy where its actions are discrete.

    Raises:
        ConfigError: bounds that are not symmetric about zero.
    """
    hidden = (32, 16)
    if environment.discrete:
        return PolicyConfig(
            MLPConfig(environment.observation_size, hidden, environment.action_size)
        )
    if not np.array_equal(environment.low, -environment.high):
        raise ConfigError(f"{environment.id}: action bounds {environment.low}, {environment.high}")
    bounds = tuple(float(high) for high in environment.high)
    network = ActorConfig(environment.observation_size, environment.action_size, hidden, bounds)
    return PolicyConfig(network, sigma)


def _collector(side: Side, environment: Any, policy: Any, seed: int) -> Any:
    return side.impl.Collector(environment, policy, seed=seed)


_NEEDS: Mapping[str, tuple[str, ...]] = {
    "LunarLanderContinuous-v3": ("Box2D",),
    "HalfCheetah-v5": ("mujoco",),
}
_SAME = Tolerance(0.0, "one environment with one seed and the same actions: bit for bit")
_FORCED = {f"step/*/{name}": _SAME for name in ("observation", "reward", "next_observation")}


def _rollout(
    case: str,
    env_id: str,
    steps: int,
    *,
    forced: bool = False,
    api: str = "gymnasium",
    limit: int | None = None,
    sigma: float = 0.1,
    weights: int = 1,
    scale: float = 1.0,
    dtypes: tuple[str, ...] = DTYPES,
) -> RolloutCheck:
    size = {"Pendulum-v1": 1, "LunarLanderContinuous-v3": 2, "HalfCheetah-v5": 6}.get(env_id)
    noisy = size is not None and sigma > 0
    return RolloutCheck(
        name="Collector",
        case=case,
        dtypes=dtypes,
        make_environment=lambda: make_environment(env_id, api=api, max_episode_steps=limit),
        make_policy=_policy(
            env_id, weights=weights, sigma=sigma if noisy else 0.0, scale=scale, api=api
        ),
        make_stepper=_collector,
        steps=steps,
        seed=7,
        forced=forced,
        noise=(lambda rng: rng.standard_normal((steps, size or 0))) if noisy else None,
        random_state=random_state,
        tolerances={"float32": _FORCED, "float64": _FORCED} if forced else {},
        needs=(api, *_NEEDS.get(env_id, ())),
    )


def _environments(case: str, env_id: str, actions: Callable[..., np.ndarray]) -> EnvironmentCheck:
    return EnvironmentCheck(
        name="make_environment",
        case=case,
        environments={
            "gymnasium": lambda: make_environment(env_id),
            "gym": lambda: make_environment(env_id, api="gym"),
        },
        make_stepper=_collector,
        actions=actions,
        seed=7,
        random_state=random_state,
        needs=("gymnasium", "gym"),
    )


# Horizons of the free-running cases: short enough for float32, with room for another processor's
# order of summation, except in the two that show it leave. Measured (worst error as a share of the
# tolerance, float32 / float64):
# - Pendulum: 60 steps 0.24 / 0.002. Its observations are float32 in both runs, which absorbs most
#   float64 rounding. Over 205 steps about 1 / 0.01 (the reward squares the angle): float64 only.
# - CartPole: the sides part only if an action flips; none does (scores 0.03 / 0.0001, forced).
# - LunarLander: while no engine fires, 66 steps 0.2 / 0.0003. Where one does, Box2D's float32 state
#   takes up the last bit of the action, and the reward is 100 times its change: 45 steps 10 /
#   0.0004.
# - HalfCheetah: 30 steps 0.35 / 0.05. With weights times 3 the loop is chaotic: a difference grows
#   by half with each step, so float32 is over tolerance from step 2 on, float64 from step 14 on;
#   7 steps 8 / 0.04.
CHECKS: tuple[Check, ...] = (
    _rollout("pendulum-forced", "Pendulum-v1", 47, forced=True, limit=20, sigma=0.8),
    _rollout("cartpole-forced", "CartPole-v1", 47, forced=True, limit=25, weights=7),
    _rollout(
        "lunar-lander-forced", "LunarLanderContinuous-v3", 66, forced=True, weights=7, scale=2.0
    ),
    _rollout("half-cheetah-forced", "HalfCheetah-v5", 23, forced=True, limit=10),
    _rollout("gym-pendulum-forced", "Pendulum-v1", 23, forced=True, api="gym", limit=10, sigma=0.3),
    _rollout("gym-cartpole-forced", "CartPole-v1", 23, forced=True, api="gym", weights=7),
    _rollout("pendulum-free", "Pendulum-v1", 60, limit=20, sigma=0.3),
    _rollout("pendulum-no-noise", "Pendulum-v1", 10, sigma=0.0, weights=2),
    _rollout("pendulum-time-limit", "Pendulum-v1", 205, dtypes=("float64",)),
    _rollout("cartpole-free", "CartPole-v1", 75, limit=25, weights=7),
    _rollout("lunar-lander-free", "LunarLanderContinuous-v3", 66, weights=3, scale=2.0),
    _rollout("lunar-lander-engines", "LunarLanderContinuous-v3", 45, scale=2.0),
    _rollout("half-cheetah-free", "HalfCheetah-v5", 30, scale=0.6),
    _rollout("half-cheetah-chaotic", "HalfCheetah-v5", 7, weights=6, scale=3.0),
    _rollout("gym-pendulum-free", "Pendulum-v1", 25, api="gym", limit=10, sigma=0.3),
    _rollout("gym-cartpole-free", "CartPole-v1", 25, api="gym", weights=7),
    _environments("pendulum", "Pendulum-v1", lambda rng: rng.uniform(-2.5, 2.5, (410, 1))),
    _environments("cartpole", "CartPole-v1", lambda rng: rng.integers(0, 2, 120)),
)


def _any_policy(side: Side, sigma: float = 0.0, **changes: Any) -> Any:
    network = ActorConfig(3, 2, (11,))
    values = initial_parameters(network, np.random.default_rng(0)) | changes.pop("values", {})
    return side.impl.Policy(
        PolicyConfig(network, sigma), values, dtype=changes.pop("dtype", side.dtype)
    )


ERRORS = (
    ErrorCase(
        "observation-shape",
        lambda side: _any_policy(side).act(np.zeros((1, 3))),
        ShapeError,
        r"observation has shape \(1, 3\), expected \(3,\)",
    ),
    ErrorCase(
        "observation-nan",
        lambda side: _any_policy(side).act(np.array([0.0, np.nan, 0.0])),
        NonFiniteError,
        r"observation\[1\]",
    ),
    ErrorCase(
        "noise-missing",
        lambda side: _any_policy(side, 0.1).act(np.zeros(3)),
        ConfigError,
        "no draw is given",
    ),
    ErrorCase(
        "noise-unused",
        lambda side: _any_policy(side).act(np.zeros(3), np.zeros(2)),
        ConfigError,
        "a draw is given",
    ),
    ErrorCase(
        "noise-shape",
        lambda side: _any_policy(side, 0.1).act(np.zeros(3), np.zeros(1)),
        ShapeError,
        r"noise has shape \(1,\), expected \(2,\)",
    ),
    ErrorCase(
        "noise-infinite",
        lambda side: _any_policy(side, 0.1).act(np.zeros(3), np.array([0.0, np.inf])),
        NonFiniteError,
        r"noise\[1\]",
    ),
    ErrorCase(
        "parameter-unknown",
        lambda side: _any_policy(side, values={"l9/kernel": np.zeros((3, 2))}),
        ConfigError,
        "l9/kernel",
    ),
    ErrorCase(
        "parameter-shape",
        lambda side: _any_policy(side, values={"l1/kernel": np.zeros((11, 3))}),
        ShapeError,
        r"l1/kernel has shape \(11, 3\), expected \(3, 11\)",
    ),
    ErrorCase("dtype", lambda side: _any_policy(side, dtype="float16"), DtypeError, "float16"),
    ErrorCase(
        "action-shape",
        lambda side: _pendulum(side).step(action=np.zeros(2)),
        ShapeError,
        r"action has shape \(2,\), Pendulum-v1 takes \(1,\)",
    ),
    ErrorCase(
        "action-nan",
        lambda side: _pendulum(side).step(action=np.array([np.nan])),
        NonFiniteError,
        r"action\[0\]",
    ),
    ErrorCase(
        "environment-unknown",
        lambda side: side.impl.Collector(make_environment("Pendulm-v1"), None, seed=0),
        UnknownEnvironmentError,
        "Pendulm-v1.*similar: Pendulum-v1",
    ),
)


def _pendulum(side: Side) -> Any:
    return side.impl.Collector(make_environment("Pendulum-v1"), _any_policy(side), seed=0)


COMPONENT = Component(
    name="rollouts",
    contract=(Policy, Collector),
    checks=CHECKS,
    mutants=MUTANTS,
    errors=ERRORS,
)
