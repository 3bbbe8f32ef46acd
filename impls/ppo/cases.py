"""What PPO is checked on: its chain of links, and the data of the cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from impls.learner.rollout_cases import (
    Draws,
    Examples,
    away_from_start,
    real_rollouts,
    synthetic_rollouts,
)
from impls.ppo.config import PPOConfig, initial_state
from parity.checks.learner import Link
from parity.checks.training import LinkCheck, LockstepCheck, UpdateSequenceCheck
from parity.component import DTYPES, Check
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


@dataclass(frozen=True)
class Case:
    """A configuration with its data."""

    name: str
    config: PPOConfig
    examples: Examples
    needs: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = DTYPES
    """float64 alone where other cases show enough of float32."""

    def common(self) -> dict[str, Any]:
        return {
            "case": self.name,
            "config": self.config,
            "initial_state": away_from_start(initial_state, self.config),
            "examples": self.examples,
            "needs": self.needs,
        }


CASES = (
    Case(
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
    Case(
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
    Case(
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
    Case(
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

TINY = Case(
    "tiny",
    PPOConfig(3, 2, hidden_sizes=(5,), epochs=2, minibatches=2),
    synthetic_rollouts(3, 2, steps=2, environments=3, log_prob=True, draws=orders(2)),
)
"""The one that is compiled by torch: that takes seconds for the smallest graph."""

TRACES = 1
"""Graphs of a compiled learner: the links of a minibatch."""

UPDATES = 5
"""Each has several steps of the optimizer."""


def _slower(learner: Any) -> None:
    learner.set_learning_rate("actor_critic", 2.5e-4)


CHANGES = {2: _slower}
"""The learning rate changes while a compiled update is in use."""

LINK_CHECKS: tuple[Check, ...] = tuple(
    LinkCheck(
        name=link.name,
        links=links(case.config),
        at=(0, 2),
        dtypes=case.dtypes,
        **case.common(),
    )
    for case in CASES
    for link in links(case.config)
)


def _composed(case: Case, modes: tuple[str, ...]) -> Check:
    return UpdateSequenceCheck(
        name="update",
        traces=TRACES,
        updates=UPDATES,
        dtypes=("float64",),
        modes=modes,
        changes=CHANGES,
        tolerances=COMPOSED,
        **case.common(),
    )


LOCKSTEP_CHECKS: tuple[Check, ...] = tuple(
    LockstepCheck(
        name="update", traces=TRACES, changes=CHANGES, dtypes=case.dtypes, **case.common()
    )
    for case in CASES
)

CHECKS = (
    *LINK_CHECKS,
    *LOCKSTEP_CHECKS,
    _composed(CASES[1], ("eager", "xla")),
    _composed(CASES[2], ("eager",)),
    _composed(TINY, ("compiled",)),
)
