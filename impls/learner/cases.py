"""Test data of the learners: batches of real transitions, and starting states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from impls.environments import collect_transitions
from parity.checks.learner import Example, State

Examples = Callable[[np.random.Generator, int], Sequence[Example]]

REAL_ROWS = 400
"""Transitions collected per environment."""


def real_batches(
    env_id: str,
    *,
    rows: int = 13,
    reward_scale: float = 1.0,
    max_episode_steps: int | None = None,
    noise: bool = False,
) -> Examples:
    """Batches drawn from transitions of a random policy in a real environment.

    Each batch has a terminated and a truncated row where the environment has such.

    Args:
        reward_scale: factor on the rewards, as is usual in training; near 1 the values of a batch
            are of one size, and float32 can hold 1e-6 of it.
        max_episode_steps: shorter time limit, so that a small sample has truncated rows.
        noise: draws hold standard normal ``noise``, shaped like the action.
    """

    def examples(rng: np.random.Generator, count: int) -> list[Example]:
        table = collect_transitions(env_id, REAL_ROWS, seed=7, max_episode_steps=max_episode_steps)
        made: list[Example] = []
        for _ in range(count):
            index = rng.integers(REAL_ROWS, size=rows)
            for row, flag in enumerate(("terminated", "truncated")):
                marked = np.flatnonzero(table[flag])
                if len(marked) and row < rows:
                    index[row] = rng.choice(marked)
            batch = {name: column[index] for name, column in table.items()}
            batch["reward"] = batch["reward"] * np.float32(reward_scale)
            made.append((batch, _draws(rng, batch["action"].shape, noise)))
        return made

    return examples


def synthetic_batches(
    observation_size: int, action_size: int, *, rows: int, noise: bool = False
) -> Examples:
    """Random batches with every combination of ``terminated`` and ``truncated``."""

    def examples(rng: np.random.Generator, count: int) -> list[Example]:
        made: list[Example] = []
        for _ in range(count):
            ends = rng.permutation(np.arange(rows) % 4)
            batch = {
                "observation": rng.normal(size=(rows, observation_size)),
                "action": rng.uniform(-1.0, 1.0, (rows, action_size)),
                "reward": rng.normal(size=rows) - 0.5,
                "next_observation": rng.normal(size=(rows, observation_size)),
                "terminated": ends % 2 == 1,
                "truncated": ends >= 2,
            }
            made.append((batch, _draws(rng, (rows, action_size), noise)))
        return made

    return examples


def apart(
    initial_state: Callable[[Any, np.random.Generator], State], config: Any
) -> Callable[[np.random.Generator], Mapping[str, np.ndarray]]:
    """A starting state whose target networks are not the online ones.

    With equal networks a target that is computed with the online network would look right.
    """

    def state(rng: np.random.Generator) -> State:
        online, other = initial_state(config, rng), initial_state(config, rng)
        return {
            name: other[name.replace("target/", "param/")] if name.startswith("target/") else value
            for name, value in online.items()
        }

    return state


def level_critics(
    initial_state: Callable[[Any, np.random.Generator], State],
    make_learner: Callable[..., Any],
    config: Any,
    examples: Examples,
    acting: Callable[[Any, Mapping[str, np.ndarray]], tuple[np.ndarray, np.ndarray]],
) -> Callable[[np.random.Generator], Mapping[str, np.ndarray]]:
    """A starting state as :func:`apart`'s in which either critic is the smaller one in some rows.

    As drawn, their last biases differ by more than what they say of any action, and the smaller
    critic is the same one in all rows: a minimum, or that one alone, would look alike. The second
    critic is shifted by the median difference, and so is the second target critic.

    Args:
        make_learner: of the reference.
        acting: (learner, fields of a batch and its draws in float64) -> observations and actions
            of which the critics' values are made level.
    """

    def made(rng: np.random.Generator) -> State:
        state = dict(apart(initial_state, config)(rng))
        learner = make_learner(config, dtype="float64")
        [(batch, draws)] = examples(np.random.default_rng(0), 1)
        given = {n: np.asarray(a, np.float64) for n, a in {**batch, **draws}.items()}
        for kind in ("param", "target"):
            critics = {n: v for n, v in state.items() if n.startswith(f"{kind}/critic/")}
            named = {n.replace("target/", "param/"): v for n, v in critics.items()}
            learner.load_state({**state, **named})
            s, action = acting(learner, given)
            minus_q1, minus_q2 = learner.td_error(s, action, np.zeros(len(s)))
            last = f"{kind}/critic/q2/l{len(config.hidden_sizes) + 1}/bias"
            state[last] = state[last] + np.median(minus_q2 - minus_q1)
        return state

    return made


def _draws(
    rng: np.random.Generator, shape: tuple[int, ...], noise: bool
) -> Mapping[str, np.ndarray]:
    return {"noise": rng.standard_normal(shape)} if noise else {}
