"""What the one-step actor-critic is checked on: its chain of links, and the data of the cases."""

from __future__ import annotations

from impls.actor_critic.config import ActorCriticConfig
from impls.learner.rollout_cases import (
    real_rollouts,
    synthetic_rollouts,
)
from impls.learner.rollout_checks import case, rollout_checks
from parity.checks.learner import Link
from parity.tolerance import Tolerance

COMPOSED = {
    "float64": {"*": Tolerance(1e-10, "10 updates, each continuing from its own side's results")}
}
FLAT = ("flat_observation", "flat_action", "flat_advantage", "flat_target")
LOSSES = ("loss", "policy_loss", "value_loss", "entropy")


def links(config: ActorCriticConfig) -> tuple[Link, ...]:
    """The update as a chain, in order."""
    clips = config.max_gradient_norm is not None
    chain = (
        Link("value_estimates", ("observation", "next_observation"), ("value", "next_value")),
        Link("target", ("reward", "next_value", "terminated", "truncated"), ("target",)),
        Link("advantage", ("value", "target"), ("advantage",)),
        Link("flatten", ("observation", "action", "advantage", "target"), FLAT),
        Link("loss", FLAT, LOSSES, constants=FLAT[2:]),
        Link("gradients_of", FLAT, (*LOSSES, "gradients")),
        Link("clip", ("gradients",), ("clipped", "gradient_norm")),
        Link(
            "apply",
            ("clipped" if clips else "gradients",),
            writes=("slot/actor_critic/*", "param/actor_critic/*"),
        ),
    )
    return tuple(link for link in chain if clips or link.name != "clip")


CASES = (
    case(
        "all-ends",
        ActorCriticConfig(5, 3, hidden_sizes=(11,), entropy_coefficient=0.1, gamma=0.9),
        synthetic_rollouts(5, 3, steps=1, environments=14),
    ),
    case(
        "cart-pole",
        ActorCriticConfig(4, 2, hidden_sizes=(11, 7), max_gradient_norm=0.2, gamma=0.9),
        real_rollouts(
            "CartPole-v1", steps=1, environments=9, max_episode_steps=12, reward_scale=0.1
        ),
        ("gymnasium",),
    ),
    case(
        "pendulum",
        ActorCriticConfig(
            3,
            1,
            2.0,
            True,
            (11, 7),
            False,
            optimizer="rmsprop",
            max_gradient_norm=None,
            gamma=0.9,
        ),
        real_rollouts(
            "Pendulum-v1", steps=1, environments=5, max_episode_steps=9, reward_scale=0.1
        ),
        ("gymnasium",),
    ),
    case(
        "one-row",
        ActorCriticConfig(3, 4, hidden_sizes=(5,)),
        synthetic_rollouts(3, 4, steps=1, environments=1),
        dtypes=("float64",),
    ),
    case(
        "square",  # and more than one step: each counts on its own
        ActorCriticConfig(4, 4, 1.0, True, (4, 4), gamma=0.95),
        synthetic_rollouts(4, 4, steps=4, environments=4, continuous=True),
        dtypes=("float64",),
    ),
)

UPDATES = 10

CHECKS = rollout_checks(
    CASES,
    links,
    composed=((CASES[1], ("eager", "xla")), (CASES[2], ("eager",))),
    updates=UPDATES,
    tolerances=COMPOSED,
)
