"""What SAC is checked on: its chain of links, and the data of the cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from impls.learner.cases import Examples, level_critics, real_batches, synthetic_batches
from impls.learner.check_cases import Case, slower
from impls.learner.replay_checks import replay_checks
from impls.sac.config import SACConfig, initial_state
from impls.sac.numpy_ref import make_learner
from parity.checks.learner import Example, Link

_STEP = ("observation", "action", "target")
_ACTOR = ("observation", "noise", "alpha")
_NEXT = ("next_observation", "next_action", "next_log_prob", "alpha")


def links(config: SACConfig) -> tuple[Link, ...]:
    """The update as a chain, in order."""
    clips = config.max_gradient_norm is not None
    chain = (
        Link("alpha", (), ("alpha",)),
        Link("sample", ("next_observation", "next_noise"), ("next_action", "next_log_prob")),
        Link("target", ("reward", *_NEXT, "terminated", "truncated"), ("target",)),
        Link("td_error", _STEP, ("td_error_q1", "td_error_q2")),
        Link("critic_loss", _STEP, ("critic_loss",), constants=("target",)),
        Link("critic_gradients", _STEP, ("critic_loss", "critic_gradients")),
        Link("clip_critic", ("critic_gradients",), ("critic_clipped", "critic_norm")),
        Link(
            "apply_critic",
            ("critic_clipped" if clips else "critic_gradients",),
            writes=("slot/critic/*", "param/critic/*"),
        ),
        Link("actor_loss", _ACTOR, ("actor_loss",), constants=("alpha",)),
        Link("actor_gradients", _ACTOR, ("actor_loss", "log_prob", "actor_gradients")),
        Link("clip_actor", ("actor_gradients",), ("actor_clipped", "actor_norm")),
        Link(
            "apply_actor",
            ("actor_clipped" if clips else "actor_gradients",),
            writes=("slot/actor/*", "param/actor/*"),
        ),
        # the sample that the actor learned from, not a new one of the actor as it is now
        Link("temperature_loss", ("log_prob",), ("temperature_loss",), constants=("log_prob",)),
        Link("temperature_gradients", ("log_prob",), ("temperature_loss", "temperature_gradients")),
        Link(
            "apply_temperature",
            ("temperature_gradients",),
            writes=("slot/temperature/*", "param/temperature/*"),
        ),
        Link("update_targets", writes=("target/*",)),
    )
    fixed = not config.learn_temperature
    return tuple(
        link
        for link in chain
        if (clips or not link.name.startswith("clip_"))
        and not (fixed and "temperature" in link.name)
    )


def both_noises(examples: Examples) -> Examples:
    """The same batches, and a second noise: that of the target, apart from the actor's."""

    def made(rng: np.random.Generator, count: int) -> list[Example]:
        return [
            (batch, {**draws, "next_noise": rng.standard_normal(draws["noise"].shape)})
            for batch, draws in examples(rng, count)
        ]

    return made


def _acting(learner: Any, given: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """What the policy does in the observations of a batch."""
    return given["observation"], learner.sample(given["observation"], given["noise"])[0]


def starting_state(config: SACConfig, examples: Examples) -> Any:
    """See :func:`impls.learner.cases.level_critics`."""
    return level_critics(initial_state, make_learner, config, examples, _acting)


def _case(name: str, config: SACConfig, examples: Examples, *needs: str, updates: int = 6) -> Case:
    state = starting_state(config, examples)
    # the slots of a temperature that is not learned stay at zero
    still = () if config.learn_temperature else ("update/*/state/slot/temperature/[mv]/log_alpha",)
    return Case(name, config, both_noises(examples), state, needs, updates, still)


CASES = (
    _case(
        "pendulum",
        SACConfig(3, 1, 2.0, (11,), max_gradient_norm=0.5, tau=0.01, initial_temperature=0.2),
        real_batches("Pendulum-v1", reward_scale=0.1, max_episode_steps=20, noise=True),
        "gymnasium",
        updates=20,
    ),
    _case(
        "lunar-lander",
        SACConfig(8, 2, 1.0, (11, 7), gamma=0.9, initial_temperature=0.5),
        real_batches(
            "LunarLanderContinuous-v3", reward_scale=0.1, max_episode_steps=90, noise=True
        ),
        "gymnasium",
        "box2d",
    ),
    _case(
        "one-row",
        SACConfig(3, 2, (0.5, 2.0), (11, 7), target_entropy=0.7, max_gradient_norm=0.02),
        synthetic_batches(3, 2, rows=1, noise=True),
    ),
    # bounds of log_std that the network reaches, and a temperature that stays
    _case(
        "square",
        SACConfig(
            5,
            5,
            1.0,
            (5,),
            initial_temperature=0.3,
            learn_temperature=False,
            log_std_min=-0.3,
            log_std_max=0.1,
        ),
        synthetic_batches(5, 5, rows=5, noise=True),
    ),
)

CHECKS = replay_checks(
    CASES,
    links,
    changes={1: slower("temperature"), 2: slower("critic"), 3: slower("actor")},
)
