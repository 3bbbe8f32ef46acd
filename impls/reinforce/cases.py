"""What REINFORCE is checked on: its chain of links, and the data of the cases."""

from __future__ import annotations

from impls.learner.rollout_cases import (
    padded_episodes,
    real_episodes,
)
from impls.learner.rollout_checks import case, rollout_checks
from impls.reinforce.config import ReinforceConfig
from parity.checks.learner import Link
from parity.tolerance import Tolerance

COMPOSED = {
    "float64": {"*": Tolerance(1e-10, "10 updates, each continuing from its own side's results")}
}
FLAT = ("flat_observation", "flat_action", "flat_weight", "flat_valid")
LOSSES = ("loss", "policy_loss", "entropy")


def links(config: ReinforceConfig) -> tuple[Link, ...]:
    """The update as a chain, in order."""
    clips = config.max_gradient_norm is not None
    chain = (
        Link("target", ("reward", "terminated", "truncated", "valid"), ("target",)),
        Link("weight", ("target", "valid"), ("weight",)),
        Link("flatten", ("observation", "action", "weight", "valid"), FLAT),
        Link("loss", FLAT, LOSSES, constants=("flat_weight",)),
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
        "padded",
        ReinforceConfig(
            5,
            3,
            hidden_sizes=(11,),
            optimizer="rmsprop",
            entropy_coefficient=0.1,
            normalize_return=False,
            max_gradient_norm=None,
            gamma=0.9,
        ),
        padded_episodes(5, 3, steps=7, environments=4),
    ),
    case(
        "cart-pole",
        ReinforceConfig(4, 2, hidden_sizes=(11, 7), max_gradient_norm=0.2, gamma=0.9),
        real_episodes("CartPole-v1", episodes=3, max_episode_steps=13, reward_scale=0.1),
        ("gymnasium",),
    ),
    case(
        "gaussian",
        ReinforceConfig(3, 2, 1.0, True, (11, 7), entropy_coefficient=0.05),
        padded_episodes(3, 2, steps=5, environments=4, continuous=True),
    ),
    case(
        "square",
        ReinforceConfig(4, 4, hidden_sizes=(4, 4)),
        padded_episodes(4, 4, steps=4, environments=4),
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
