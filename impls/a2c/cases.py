"""What A2C is checked on: its chain of links, and the data of the cases."""

from __future__ import annotations

from impls.a2c.config import A2CConfig
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


def links(config: A2CConfig) -> tuple[Link, ...]:
    """The update as a chain, in order."""
    clips = config.max_gradient_norm is not None
    chain = (
        Link("bootstrap", ("next_observation",), ("next_value",)),
        Link("target", ("reward", "next_value", "terminated", "truncated"), ("target",)),
        Link("advantage", ("observation", "target"), ("advantage",)),
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
        A2CConfig(
            5, 3, hidden_sizes=(11,), entropy_coefficient=0.1, normalize_advantage=True, gamma=0.9
        ),
        synthetic_rollouts(5, 3, steps=7, environments=4),
    ),
    case(
        "cart-pole",
        A2CConfig(4, 2, hidden_sizes=(11, 7), max_gradient_norm=0.2, gamma=0.9),
        real_rollouts(
            "CartPole-v1", steps=5, environments=3, max_episode_steps=12, reward_scale=0.1
        ),
        ("gymnasium",),
    ),
    case(
        "pendulum",
        A2CConfig(
            3, 1, 2.0, True, (11, 7), False, optimizer="adam", max_gradient_norm=None, gamma=0.9
        ),
        real_rollouts(
            "Pendulum-v1", steps=5, environments=3, max_episode_steps=9, reward_scale=0.1
        ),
        ("gymnasium",),
    ),
    case(
        "one-step",
        A2CConfig(3, 4, hidden_sizes=(5,)),
        synthetic_rollouts(3, 4, steps=1, environments=6),
        dtypes=("float64",),
    ),
    case(
        "square",
        A2CConfig(5, 5, 1.0, True, (5, 5), gamma=0.95),
        synthetic_rollouts(5, 5, steps=5, environments=5, continuous=True),
        dtypes=("float64",),
    ),
)

TINY = case(
    "tiny",
    A2CConfig(3, 2, hidden_sizes=(5,)),
    synthetic_rollouts(3, 2, steps=2, environments=3),
)
"""The one that is compiled by torch: that takes seconds for the smallest graph."""

UPDATES = 10

CHECKS = rollout_checks(
    CASES,
    links,
    composed=((CASES[1], ("eager", "xla")), (CASES[2], ("eager",)), (TINY, ("compiled",))),
    updates=UPDATES,
    tolerances=COMPOSED,
)
