"""What REINFORCE is checked on: its chain of links, and the data of the cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from impls.learner.rollout_cases import (
    Examples,
    away_from_start,
    padded_episodes,
    real_episodes,
)
from impls.reinforce.config import ReinforceConfig, initial_state
from parity.checks.learner import Link
from parity.checks.training import LinkCheck, LockstepCheck, UpdateSequenceCheck
from parity.component import DTYPES, Check
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


@dataclass(frozen=True)
class Case:
    """A configuration with its data."""

    name: str
    config: ReinforceConfig
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
    Case(
        "cart-pole",
        ReinforceConfig(4, 2, hidden_sizes=(11, 7), max_gradient_norm=0.2, gamma=0.9),
        real_episodes("CartPole-v1", episodes=3, max_episode_steps=13, reward_scale=0.1),
        ("gymnasium",),
    ),
    Case(
        "gaussian",
        ReinforceConfig(3, 2, 1.0, True, (11, 7), entropy_coefficient=0.05),
        padded_episodes(3, 2, steps=5, environments=4, continuous=True),
    ),
    Case(
        "square",
        ReinforceConfig(4, 4, hidden_sizes=(4, 4)),
        padded_episodes(4, 4, steps=4, environments=4),
        dtypes=("float64",),
    ),
)

TRACES = 1
"""Graphs of a compiled learner."""

UPDATES = 10


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
)
