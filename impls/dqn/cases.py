"""What DQN is checked on: its chain of links, and the data of the cases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from impls.dqn.config import DQNConfig, initial_state
from impls.learner.cases import Examples, apart, real_batches
from impls.learner.check_cases import Case, slower
from impls.learner.replay_checks import replay_checks
from parity.checks.learner import Example, Link


def links(config: DQNConfig) -> tuple[Link, ...]:
    """The update as a chain, in order."""
    ends = ("terminated", "truncated", *(("steps",) if config.n_step > 1 else ()))
    weight = ("weight",) if config.weighted else ()
    used = ("observation", "action", "target", *weight)
    clips = config.max_gradient_norm is not None
    chain = (
        Link("target", ("reward", "next_observation", *ends), ("target",)),
        Link("td_error", ("observation", "action", "target"), ("td_error",)),
        Link("loss", used, ("loss",), constants=("target", *weight)),
        Link("loss_gradients", used, ("loss", "gradients")),
        Link("clip_gradients", ("gradients",), ("clipped", "gradient_norm")),
        Link(
            "apply_gradients",
            ("clipped" if clips else "gradients",),
            writes=("slot/q/*", "param/q/*"),
        ),
        Link("update_target", writes=("target/*",)),
    )
    return tuple(link for link in chain if clips or link.name != "clip_gradients")


def synthetic(config: DQNConfig, rows: int) -> Examples:
    """Random batches with every combination of ``terminated`` and ``truncated``."""

    def examples(rng: np.random.Generator, count: int) -> Sequence[Example]:
        made: list[Example] = []
        for _ in range(count):
            ends = rng.permutation(np.arange(rows) % 4)
            batch: dict[str, np.ndarray] = {
                "observation": rng.normal(size=(rows, config.observation_size)),
                "action": rng.integers(config.action_size, size=rows),
                "reward": rng.normal(size=rows) * 2.0 - 0.5,
                "next_observation": rng.normal(size=(rows, config.observation_size)),
                "terminated": ends % 2 == 1,
                "truncated": ends >= 2,
            }
            if config.n_step > 1:
                batch["steps"] = rng.integers(1, config.n_step + 1, size=rows)
            if config.weighted:
                batch["weight"] = rng.uniform(0.1, 1.0, size=rows)
            made.append((batch, {}))
        return made

    return examples


def _case(name: str, config: DQNConfig, examples: Examples, *needs: str) -> Case:
    return Case(name, config, examples, apart(initial_state, config), needs)


_REPLAY = DQNConfig(3, 4, (11, 7), gamma=0.9, n_step=3, weighted=True, tau=0.3, target_period=2)
_ONE_ROW = DQNConfig(3, 5, (11,), huber_delta=0.05, max_gradient_norm=0.02)
_SQUARE = DQNConfig(5, 5, (5, 5), target_period=3)

CASES = (
    _case(
        "cart-pole",
        DQNConfig(4, 2, (11,), gamma=0.9, double=False, max_gradient_norm=0.5, target_period=2),
        real_batches("CartPole-v1", reward_scale=0.1, max_episode_steps=20),
        "gymnasium",
    ),
    _case(
        "lunar-lander",
        DQNConfig(8, 4, (11, 7), max_gradient_norm=None, target_period=4),
        real_batches("LunarLander-v3", reward_scale=0.1, max_episode_steps=90),
        "gymnasium",
        "box2d",
    ),
    _case("replay", _REPLAY, synthetic(_REPLAY, 13)),
    _case("one-row", _ONE_ROW, synthetic(_ONE_ROW, 1)),
    _case("square", _SQUARE, synthetic(_SQUARE, 5)),
)

CHECKS = replay_checks(CASES, links, changes={2: slower("q")})
