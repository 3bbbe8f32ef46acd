"""What PPO is checked on: its chain of links, and the data of the cases."""

from __future__ import annotations

import numpy as np

from impls.learner.rollout_cases import (
    Draws,
    real_rollouts,
    synthetic_rollouts,
)
from impls.learner.rollout_checks import case, rollout_checks
from impls.ppo.config import PPOConfig
from parity.checks.learner import Link
from parity.tolerance import Tolerance

COMPOSED = {
    "float64": {
        "*": Tolerance(1e-10, "up to 30 steps, each continuing from its own side's results")
    }
}
FIELDS = ("observation", "action", "log_prob", "value", "advantage", "target")
LOSSES = ("loss", "policy_loss", "value_loss", "entropy")


def _each(prefix: str) -> tuple[str, ...]:
    return tuple(f"{prefix}_{name}" for name in FIELDS)


def links(config: PPOConfig) -> tuple[Link, ...]:
    """The update as a chain, in order, up to the step of the first minibatch."""
    used = list(_each("mb"))
    if config.normalize_advantage:
        used[FIELDS.index("advantage")] = "scaled_advantage"
    clips = config.max_gradient_norm is not None
    chain = (
        Link("value_estimates", ("observation", "next_observation"), ("value", "next_value")),
        Link(
            "advantage",
            ("reward", "value", "next_value", "terminated", "truncated"),
            ("advantage", "target"),
        ),
        Link("flatten", FIELDS, _each("flat")),
        Link("gather", ("permutation", *_each("flat")), _each("all")),
        Link("minibatch", _each("all"), _each("mb")),
        Link("normalize", ("mb_advantage",), ("scaled_advantage",)),
        Link("loss", tuple(used), LOSSES, constants=tuple(used[2:])),
        Link("gradients_of", tuple(used), (*LOSSES, "gradients")),
        Link("clip", ("gradients",), ("clipped", "gradient_norm")),
        Link(
            "apply",
            ("clipped" if clips else "gradients",),
            writes=("slot/actor_critic/*", "param/actor_critic/*"),
        ),
    )
    left_out = ({"clip"} if not clips else set()) | (
        set() if config.normalize_advantage else {"normalize"}
    )
    return tuple(link for link in chain if link.name not in left_out)


def orders(epochs: int) -> Draws:
    """An order of all rows for each epoch."""

    def draws(rng: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
        return {"permutation": np.stack([rng.permutation(rows) for _ in range(epochs)])}

    return draws


CASES = (
    case(
        "all-ends",
        PPOConfig(
            5,
            3,
            hidden_sizes=(11,),
            gamma=0.9,
            gae_lambda=0.7,
            entropy_coefficient=0.1,
            normalize_advantage=False,
            ratio_clip=0.1,
            epochs=2,
            minibatches=2,
        ),
        synthetic_rollouts(5, 3, steps=7, environments=4, log_prob=True, draws=orders(2)),
    ),
    case(
        "cart-pole",
        PPOConfig(4, 2, hidden_sizes=(11, 7), gamma=0.9, epochs=2, minibatches=3, value_clip=0.002),
        real_rollouts(
            "CartPole-v1",
            steps=5,
            environments=3,
            max_episode_steps=12,
            reward_scale=0.1,
            log_prob=True,
            draws=orders(2),
        ),
        ("gymnasium",),
    ),
    case(
        "pendulum",
        PPOConfig(
            3,
            1,
            2.0,
            True,
            (11, 7),
            False,
            gamma=0.9,
            max_gradient_norm=None,
            epochs=2,
            minibatches=2,
        ),
        real_rollouts(
            "Pendulum-v1",
            steps=6,
            environments=3,
            max_episode_steps=9,
            reward_scale=0.1,
            log_prob=True,
            draws=orders(2),
        ),
        ("gymnasium",),
    ),
    case(
        "square",
        # values move by more than their clip from one minibatch to the next
        PPOConfig(
            4, 4, 1.0, True, (4, 4), learning_rate=1e-2, value_clip=0.01, epochs=1, minibatches=4
        ),
        synthetic_rollouts(
            4, 4, steps=4, environments=4, continuous=True, log_prob=True, draws=orders(1)
        ),
        dtypes=("float64",),
    ),
)

TINY = case(
    "tiny",
    PPOConfig(3, 2, hidden_sizes=(5,), epochs=2, minibatches=2),
    synthetic_rollouts(3, 2, steps=2, environments=3, log_prob=True, draws=orders(2)),
)
"""The one that is compiled by torch: that takes seconds for the smallest graph."""

UPDATES = 5
"""Each has several steps of the optimizer."""

CHECKS = rollout_checks(
    CASES,
    links,
    composed=((CASES[1], ("eager", "xla")), (CASES[2], ("eager",)), (TINY, ("compiled",))),
    updates=UPDATES,
    tolerances=COMPOSED,
)
