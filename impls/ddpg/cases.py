"""What DDPG is checked on: its chain of links, and the data of the cases."""

from __future__ import annotations

from impls.ddpg.config import DDPGConfig, initial_state
from impls.learner.cases import Examples, apart, real_batches, synthetic_batches
from impls.learner.check_cases import Case, slower
from impls.learner.replay_checks import replay_checks
from parity.checks.learner import Link


def links(config: DDPGConfig) -> tuple[Link, ...]:
    """The update as a chain, in order."""
    clips = config.max_gradient_norm is not None
    chain = (
        Link("target_action", ("next_observation",), ("next_action",)),
        Link(
            "target",
            ("reward", "next_observation", "next_action", "terminated", "truncated"),
            ("target",),
        ),
        Link("td_error", ("observation", "action", "target"), ("td_error",)),
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


def _case(name: str, config: DDPGConfig, examples: Examples, *needs: str) -> Case:
    return Case(name, config, examples, apart(initial_state, config), needs)


CASES = (
    _case(
        "pendulum",
        DDPGConfig(3, 1, 2.0, (11,), max_gradient_norm=0.5, tau=0.01),
        real_batches("Pendulum-v1", reward_scale=0.1, max_episode_steps=20),
        "gymnasium",
    ),
    _case(
        "lunar-lander",
        DDPGConfig(8, 2, 1.0, (11, 7), critic_weight_decay=0.0),
        real_batches("LunarLanderContinuous-v3", reward_scale=0.1, max_episode_steps=90),
        "gymnasium",
        "box2d",
    ),
    _case(
        "half-cheetah",
        DDPGConfig(17, 6, 1.0, (11, 7), gamma=0.9),
        real_batches("HalfCheetah-v5", max_episode_steps=25),
        "gymnasium",
        "mujoco",
    ),
    _case(
        "one-row",
        DDPGConfig(3, 2, (0.5, 2.0), (11, 7), max_gradient_norm=0.02),
        synthetic_batches(3, 2, rows=1),
    ),
    _case("square", DDPGConfig(5, 5, 1.0, (5, 5)), synthetic_batches(5, 5, rows=5)),
)

CHECKS = replay_checks(CASES, links, changes={2: slower("critic"), 3: slower("actor")})
