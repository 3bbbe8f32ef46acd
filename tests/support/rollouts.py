"""Small learners from rollouts, and batches for them, for the tests of the algorithms."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from impls.learner.rollout_cases import away_from_start, padded_episodes, synthetic_rollouts
from tests.support.learners import SIDES, Arrays

__all__ = ["ALGORITHMS", "SIDES", "example", "make", "make_config", "start"]

CONFIGS = {
    "a2c": "A2CConfig",
    "actor_critic": "ActorCriticConfig",
    "ppo": "PPOConfig",
    "reinforce": "ReinforceConfig",
}
ALGORITHMS = tuple(CONFIGS)
SIZES = {"observation_size": 3, "action_size": 2, "hidden_sizes": (11, 7)}
PPO = {"epochs": 2, "minibatches": 2}


def make_config(algorithm: str, **fields: Any) -> Any:
    """A configuration of small networks."""
    config = getattr(import_module(f"impls.{algorithm}.config"), CONFIGS[algorithm])
    return config(**{**SIZES, **(PPO if algorithm == "ppo" else {}), **fields})


def start(algorithm: str, config: Any, seed: int = 1) -> dict[str, np.ndarray]:
    """A state whose policy is not uniform."""
    initial_state = import_module(f"impls.{algorithm}.config").initial_state
    return dict(away_from_start(initial_state, config)(np.random.default_rng(seed)))


def make(
    algorithm: str,
    side: str,
    *,
    seed: int = 1,
    dtype: str = "float64",
    variant: str = "eager",
    **fields: Any,
) -> Arrays:
    """A learner on arrays, away from its start."""
    config = make_config(algorithm, **fields)
    learner = Arrays(algorithm, side, config, dtype=dtype, variant=variant)
    learner.load_state(start(algorithm, config, seed))
    return learner


def example(
    algorithm: str,
    *,
    steps: int = 4,
    environments: int = 3,
    seed: int = 0,
    continuous: bool = False,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """A batch of the kind that the algorithm takes, and its draws."""
    sizes = {"steps": steps, "environments": environments, "continuous": continuous}
    rng = np.random.default_rng(seed)
    if algorithm == "reinforce":
        [(batch, _)] = padded_episodes(3, 2, **sizes)(rng, 1)
        return dict(batch), {}
    ppo = algorithm == "ppo"
    [(batch, _)] = synthetic_rollouts(3, 2, log_prob=ppo, **sizes)(rng, 1)
    orders = np.stack([rng.permutation(steps * environments) for _ in range(2)])
    return dict(batch), {"permutation": orders} if ppo else {}
