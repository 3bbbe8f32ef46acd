"""Test data of learners from rollouts: time-major batches, real and made up; starting states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from impls.environments import collect_transitions
from parity.checks.learner import Example, State

Examples = Callable[[np.random.Generator, int], Sequence[Example]]
Batch = dict[str, np.ndarray]
Draws = Callable[[np.random.Generator, int], Mapping[str, np.ndarray]]
"""(generator, T * B) -> the draws of one update."""

REAL_ROWS = 200
"""Transitions collected per environment."""


def real_rollouts(
    env_id: str,
    *,
    steps: int,
    environments: int,
    max_episode_steps: int,
    reward_scale: float = 1.0,
    log_prob: bool = False,
    draws: Draws | None = None,
) -> Examples:
    """Rollouts of a uniformly random policy in real environments, one seed for each.

    Each begins somewhere in the environment's history, so that episodes end inside of it, at
    another step in each column; the first column has a truncated step before its last one.

    Args:
        max_episode_steps: short, so that a small sample has truncated steps.
        reward_scale: factor on the rewards, as is usual in training.
        log_prob: also record the log-probability of each action under the random policy.
    """

    def examples(rng: np.random.Generator, count: int) -> list[Example]:
        tables = [
            collect_transitions(env_id, REAL_ROWS, seed, max_episode_steps=max_episode_steps)
            for seed in range(11, 11 + environments)
        ]
        made: list[Example] = []
        for _ in range(count):
            starts = rng.integers(REAL_ROWS - steps, size=environments)
            marked = np.flatnonzero(tables[0]["truncated"][: REAL_ROWS - steps])
            if steps > 1 and len(marked):
                starts[0] = max(0, rng.choice(marked) - rng.integers(steps - 1))
            columns = [
                {name: column[start : start + steps] for name, column in table.items()}
                for table, start in zip(tables, starts, strict=True)
            ]
            batch = {name: np.stack([c[name] for c in columns], axis=1) for name in columns[0]}
            batch["reward"] = batch["reward"] * np.float32(reward_scale)
            if log_prob:
                batch["log_prob"] = _uniform_log_prob(env_id, batch["action"])
            made.append((batch, draws(rng, steps * environments) if draws else {}))
        return made

    return examples


def synthetic_rollouts(
    observation_size: int,
    action_size: int,
    *,
    steps: int,
    environments: int,
    continuous: bool = False,
    log_prob: bool = False,
    draws: Draws | None = None,
) -> Examples:
    """Random rollouts with every combination of ``terminated`` and ``truncated``."""

    def examples(rng: np.random.Generator, count: int) -> list[Example]:
        made: list[Example] = []
        for _ in range(count):
            shape = (steps, environments)
            ends = rng.permutation(np.arange(steps * environments) % 7).reshape(shape)
            batch: Batch = {
                "observation": rng.normal(size=(*shape, observation_size)),
                "action": rng.integers(action_size, size=shape),
                "reward": rng.normal(size=shape) - 0.5,
                "next_observation": rng.normal(size=(*shape, observation_size)),
                "terminated": (ends == 1) | (ends == 3),
                "truncated": (ends == 2) | (ends == 3),
            }
            if continuous:
                # small, so that ratios to the acting policy, N(0, 1), stay near 1
                batch["action"] = 0.5 * rng.normal(size=(*shape, action_size))
            if log_prob:
                expected = -0.5 * np.sum(batch["action"] ** 2 + 1.8, -1) if continuous else 0.0
                uniform = 0.0 if continuous else -np.log(action_size)
                batch["log_prob"] = expected + uniform + rng.normal(0.0, 0.2, shape)
            made.append((batch, draws(rng, steps * environments) if draws else {}))
        return made

    return examples


def padded_episodes(
    observation_size: int,
    action_size: int,
    *,
    steps: int,
    environments: int,
    continuous: bool = False,
) -> Examples:
    """Made-up episodes of different lengths, one per column; what comes behind the end is noise.

    The first column has the full length, some are one step long. Ends are terminated or truncated.
    """
    make = synthetic_rollouts(
        observation_size, action_size, steps=steps, environments=environments, continuous=continuous
    )

    def examples(rng: np.random.Generator, count: int) -> list[Example]:
        made: list[Example] = []
        for batch, draws in make(rng, count):
            lengths = rng.integers(1, steps + 1, size=environments)
            lengths[0], lengths[-1] = steps, 1 if environments > 1 else steps
            made.append((_cut(dict(batch), lengths, rng.random(environments) < 0.5), draws))
        return made

    return examples


def real_episodes(
    env_id: str, *, episodes: int, max_episode_steps: int, reward_scale: float = 1.0
) -> Examples:
    """Whole episodes of a uniformly random policy, padded with zeros to the time limit.

    The first one ended before the limit, the last one at it, where there are such.
    """

    def examples(rng: np.random.Generator, count: int) -> list[Example]:
        table = collect_transitions(env_id, REAL_ROWS, 7, max_episode_steps=max_episode_steps)
        ends = np.flatnonzero(table["terminated"] | table["truncated"]) + 1
        spans = list(zip([0, *ends[:-1]], ends, strict=True))
        made: list[Example] = []
        for _ in range(count):
            chosen = [spans[i] for i in rng.permutation(len(spans))[:episodes]]
            for column, full in ((0, False), (-1, True)):
                fitting = [s for s in spans if (s[1] - s[0] == max_episode_steps) == full]
                chosen[column] = fitting[rng.integers(len(fitting))] if fitting else chosen[column]
            batch: Batch = {}
            for name, column in table.items():
                shape = (max_episode_steps, episodes, *column.shape[1:])
                batch[name] = np.zeros(shape, column.dtype)
                for b, (start, end) in enumerate(chosen):
                    batch[name][: end - start, b] = column[start:end]
            lengths = np.array([end - start for start, end in chosen])
            batch["valid"] = np.arange(max_episode_steps)[:, None] < lengths
            batch["reward"] = batch["reward"] * np.float32(reward_scale)
            made.append((batch, {}))
        return made

    return examples


def away_from_start(
    initial_state: Callable[[Any, np.random.Generator], State], config: Any
) -> Callable[[np.random.Generator], Mapping[str, np.ndarray]]:
    """A starting state whose policy is not uniform and whose biases are not zero.

    A new network's logits are nearly equal: the entropy has no slope there, and no mistake in it
    would show.
    """

    def state(rng: np.random.Generator) -> State:
        made = dict(initial_state(config, rng))
        for name, value in made.items():
            if name.startswith("param/") and value.ndim == 1:
                made[name] = value + rng.uniform(-0.3, 0.3, value.shape)
            elif name.startswith("param/") and "/policy_" in name and "trunk" not in name:
                # a mean far from the actions would make ratios that float32 cannot hold
                size = 0.4 if "/policy_mean/" in name else 1.0
                made[name] = size * rng.normal(size=value.shape) / np.sqrt(len(value))
        return made

    return state


def _cut(batch: Batch, lengths: np.ndarray, terminated: np.ndarray) -> Batch:
    """One episode per column, of these lengths; each ends by termination or by truncation."""
    step = np.arange(len(batch["reward"]))[:, None]
    last = step == lengths - 1
    return batch | {
        "terminated": last & terminated,
        "truncated": last & ~terminated,
        "valid": step < lengths,
    }


def _uniform_log_prob(env_id: str, action: np.ndarray) -> np.ndarray:
    from impls.environments import make_environment

    env = make_environment(env_id)
    of_one = -np.log(env.action_size) if env.discrete else -np.sum(np.log(env.high - env.low))
    env.close()
    return np.full(action.shape[:2], of_one)
