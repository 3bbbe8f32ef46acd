"""What TD3 is checked on: its chain of links, and the data of the cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.learner.cases import Examples, level_critics, real_batches, synthetic_batches
from impls.learner.check_cases import Case, slower
from impls.learner.replay_checks import replay_checks
from impls.td3.config import TD3Config, initial_state
from impls.td3.numpy_ref import make_learner
from parity.checks.learner import Link

BEFORE_FIRST = ("update/0[01]/state/slot/actor/*",)
"""The actor's slots are zero until its first, delayed, update."""


def links(config: TD3Config) -> tuple[Link, ...]:
    """The update as a chain, in order."""
    clips = config.max_gradient_norm is not None
    chain = (
        Link("target_action", ("next_observation", "noise"), ("next_action",)),
        Link(
            "target",
            ("reward", "next_observation", "next_action", "terminated", "truncated"),
            ("target",),
        ),
        Link("td_error", ("observation", "action", "target"), ("td_error_q1", "td_error_q2")),
        Link(
            "critic_loss",
            ("observation", "action", "target"),
            ("critic_loss",),
            constants=("target",),
        ),
        Link(
            "critic_gradients",
            ("observation", "action", "target"),
            ("critic_loss", "critic_gradients"),
        ),
        Link("clip_critic", ("critic_gradients",), ("critic_clipped", "critic_norm")),
        Link(
            "apply_critic",
            ("critic_clipped" if clips else "critic_gradients",),
            writes=("slot/critic/*", "param/critic/*"),
        ),
        Link("actor_loss", ("observation",), ("actor_loss",)),
        Link("actor_gradients", ("observation",), ("actor_loss", "actor_gradients")),
        Link("clip_actor", ("actor_gradients",), ("actor_clipped", "actor_norm")),
        Link(
            "apply_actor",
            ("actor_clipped" if clips else "actor_gradients",),
            writes=("slot/actor/*", "param/actor/*"),
        ),
        Link("update_targets", writes=("target/*",)),
    )
    return tuple(link for link in chain if clips or not link.name.startswith("clip_"))


def _acting(learner: Any, given: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """What the targets are made of: the next observations, and the target actor's actions there."""
    s = given["next_observation"]
    return s, learner.target_action(s, given["noise"])


def starting_state(config: TD3Config, examples: Examples) -> Any:
    """See :func:`impls.learner.cases.level_critics`."""
    return level_critics(initial_state, make_learner, config, examples, _acting)


def _case(name: str, config: TD3Config, examples: Examples, *needs: str) -> Case:
    return Case(
        name, config, examples, starting_state(config, examples), needs, expect_zero=BEFORE_FIRST
    )


CASES = (
    _case(
        "pendulum",
        TD3Config(3, 1, 2.0, (11,), max_gradient_norm=0.5, tau=0.01),
        real_batches("Pendulum-v1", reward_scale=0.1, max_episode_steps=20, noise=True),
        "gymnasium",
    ),
    _case(
        "lunar-lander",
        TD3Config(8, 2, 1.0, (11, 7), policy_delay=3),
        real_batches(
            "LunarLanderContinuous-v3", reward_scale=0.1, max_episode_steps=90, noise=True
        ),
        "gymnasium",
        "box2d",
    ),
    _case(
        "half-cheetah",
        TD3Config(17, 6, 1.0, (11, 7), gamma=0.9, policy_noise=0.6, noise_clip=0.9),
        real_batches("HalfCheetah-v5", max_episode_steps=25, noise=True),
        "gymnasium",
        "mujoco",
    ),
    _case(
        "one-row",
        TD3Config(3, 2, (0.5, 2.0), (11, 7), policy_delay=1, max_gradient_norm=0.02),
        synthetic_batches(3, 2, rows=1, noise=True),
    ),
    _case("square", TD3Config(5, 5, 1.0, (5, 5)), synthetic_batches(5, 5, rows=5, noise=True)),
)

# torch compiles TD3 in float64, inside of the stream trainer, which runs this learner. Graphs of a
# compiled learner are two: the critics' part and the delayed part.
CHECKS = replay_checks(
    CASES,
    links,
    changes={2: slower("critic"), 3: slower("actor")},
    modes=("eager", "xla"),
    traces=2,
)
